"""Certificates as certbot keeps them: live/NAME/fullchain.pem and privkey.pem, and one authority.

Run by a Python that has `cryptography`: certificates.py FOLDER HOST...
"""

import base64
import datetime
import hashlib
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def main(folder, hosts):
    folder = Path(folder)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = name("authority of a test")
    issued = certificate(authority, authority, authority_key, authority_key,
                         x509.BasicConstraints(ca=True, path_length=0))
    (folder / "ca.pem").write_bytes(pem(issued))
    (folder / "haproxy").mkdir()
    for host in hosts:
        key = ec.generate_private_key(ec.SECP256R1())
        own = certificate(name(host), authority, key, authority_key,
                          x509.SubjectAlternativeName([x509.DNSName(host)]))
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        hashed = base64.b64encode(hashlib.sha256(public).digest()).decode()
        (folder / f"{host}.spki").write_text(hashed)
        live = folder / "live" / host
        live.mkdir(parents=True)
        chain = pem(own) + pem(issued)
        private = key.private_bytes(serialization.Encoding.PEM,
                                    serialization.PrivateFormat.PKCS8,
                                    serialization.NoEncryption())
        for path, content in ((live / "fullchain.pem", chain), (live / "privkey.pem", private),
                              (folder / "haproxy" / f"{host}.pem", chain + private)):
            path.touch(mode=0o600)
            path.write_bytes(content)


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def certificate(subject, issuer, key, signer, extension):
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=90))
    return builder.add_extension(extension, critical=False).sign(signer, hashes.SHA256())


main(sys.argv[1], sys.argv[2:])
