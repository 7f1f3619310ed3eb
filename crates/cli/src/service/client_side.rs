//! Client side of `bentpipe serve` and `bentpipe proxy`: one certificate, over UDP and TCP.

use crate::args::ClientSide;
use crate::output;
use crate::service::messages::Messages;
use crate::service::server::{
    self, Announcement, ExtraDescriptors, Failure, Hangup, Reload, usage,
};
use crate::status::USAGE;
use bentpipe_net::serve::{CertificateResolver, Limits, ServerBuilder};
use bentpipe_net::{Certificate, CertificateError};
use std::net::IpAddr;
use std::path::Path;

/// Runs the server that `begin` builds with the certificate until a signal stops it. `what` names
/// its content in messages. Returns the exit status.
pub fn run(
    args: &ClientSide,
    what: &str,
    opens: ExtraDescriptors,
    begin: impl FnOnce(Certificate) -> ServerBuilder,
) -> u8 {
    match server::limits(&args.server, opens) {
        Ok(limits) => server::block_on(serve(args, what, limits, begin)),
        Err(reason) => output::refuse(&reason, USAGE),
    }
}

async fn serve(
    args: &ClientSide,
    what: &str,
    limits: Limits,
    begin: impl FnOnce(Certificate) -> ServerBuilder,
) -> Result<u8, Failure> {
    let messages = Messages::new(args.server.log);
    let certificate = match (&args.cert, &args.key) {
        (Some(chain), Some(key)) => load(chain, key, &messages),
        _ if args.self_signed => Certificate::self_signed(&names(args.listen.ip(), &args.name)),
        _ => {
            return Err((
                "no certificate is given; allowed: --cert FILE with --key FILE, or --self-signed \
                 for tests"
                    .to_owned(),
                USAGE,
            ));
        }
    }
    .map_err(|error| usage(&error))?;
    let fingerprint = certificate.fingerprint();
    if let Some(file) = &args.save_cert {
        bentpipe_files::write(file, certificate.pem().as_bytes())
            .map_err(|error| (format!("{}: {error}", file.display()), USAGE))?;
    }
    let builder = begin(certificate).listen(args.listen);
    // A self-signed certificate ends with the program.
    let keeps = !args.self_signed;
    let builder = server::configure(builder, &args.server, limits, &messages, keeps);
    let announcement = Announcement {
        what: what.to_owned(),
        versions: "HTTP/3, HTTP/2, HTTP/1.1",
        note: args.self_signed.then(|| format!("self-signed certificate, SHA-256 {fingerprint}")),
        json: Vec::new(),
    };
    server::run(builder, &args.server, &messages, &announcement, CertificateFiles(args)).await
}

/// Loads the certificate, and warns if other users may read its private key. That is no error:
/// some systems hand out keys with mode 0644 in a directory that only the server may enter.
fn load(chain: &Path, key: &Path, messages: &Messages) -> Result<Certificate, CertificateError> {
    let certificate = Certificate::from_pem(chain, key)?;
    if let Some(warning) = certificate.warning() {
        messages.warn(warning);
    }
    Ok(certificate)
}

/// The files of the certificate, if there are any.
struct CertificateFiles<'a>(&'a ClientSide);

impl Reload for CertificateFiles<'_> {
    fn on_hangup(&self) -> Hangup {
        if self.0.cert.is_some() { Hangup::Reload } else { Hangup::End }
    }

    async fn due(&mut self, _: &CertificateResolver) {
        std::future::pending().await
    }

    /// If the files are invalid, the server continues with the certificate that it has.
    fn reload(&mut self, certificates: &CertificateResolver, messages: &Messages) {
        let (Some(chain), Some(key)) = (&self.0.cert, &self.0.key) else { return };
        let loaded = load(chain, key, messages).map_err(|error| error.to_string());
        let replaced = loaded.and_then(|certificate| {
            let fingerprint = certificate.fingerprint();
            certificates.replace(&certificate).map_err(|error| error.to_string())?;
            Ok(fingerprint)
        });
        match replaced {
            Ok(fingerprint) => messages.info(&format!("new certificate, SHA-256 {fingerprint}")),
            Err(reason) => messages.warn(&format!("the certificate stays as it was: {reason}")),
        }
    }
}

/// Names of a self-signed certificate: the address, the loopback's names, and those given.
fn names(address: IpAddr, given: &[String]) -> Vec<String> {
    let mut names = given.to_vec();
    names.extend(["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()]);
    if !address.is_unspecified() && !address.is_loopback() {
        names.push(address.to_string());
    }
    names
}
