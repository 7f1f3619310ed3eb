//! A front: HTTP/3 beside the web servers of several hosts.

use super::exchange::{Answer, over_http3_to, tls};
use super::kit::{soon, until};
use bentpipe_net::front::{CertificateStore, CertificateTable, Sites};
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;
use bentpipe_net::{Certificate, RealClock, Trust};
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::tls::ALPN_H3;
use http::Request;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket, UnixListener};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

/// Writes a new certificate of `names` as Caddy keeps it, below `directory`.
fn write(directory: &Path, names: &[&str]) -> CertificateDer<'static> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = Certificate::self_signed(&names).unwrap();
    let directory = directory.join("authority").join(&names[0]);
    fs::create_dir_all(&directory).unwrap();
    let file = |end: &str| directory.join(format!("{}.{end}", names[0]));
    fs::write(file("crt"), made.pem()).unwrap();
    fs::write(file("key"), made.key_pem()).unwrap();
    made.own().unwrap().clone()
}

/// Certificates of `a.test`, and of `b.test` with the hosts below it.
pub struct Hosts {
    directory: TempDir,
    store: CertificateStore,
    table: CertificateTable,
    trust: Trust,
}

impl Hosts {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let trusted =
            [&["a.test"][..], &["b.test", "*.b.test"]].map(|names| write(directory.path(), names));
        let mut store = CertificateStore::new(vec![directory.path().to_owned()]);
        let reloaded = store.reload(RealClock::new().system());
        // The files of a test may be read by others.
        assert!(reloaded.warnings.iter().all(|text| text.contains("its mode")), "{reloaded:?}");
        let table = reloaded.table.unwrap();
        Self { directory, store, table, trust: Trust::Only(trusted.to_vec()) }
    }

    pub async fn front(&self, sites: Sites) -> Server {
        Server::front(sites, self.table.clone()).start().await.unwrap()
    }

    pub fn table(&self) -> CertificateTable {
        self.table.clone()
    }

    /// Sends a request for `url`, without a port, on a connection to `server_name`.
    pub async fn ask(
        &self,
        server: &Server,
        server_name: &str,
        url: &str,
        fields: &[(&str, &str)],
    ) -> Result<Answer, String> {
        self.ask_at(server.address(), server_name, url, fields).await
    }

    /// As [`Hosts::ask`], of the server at `address`.
    pub async fn ask_at(
        &self,
        address: SocketAddr,
        server_name: &str,
        url: &str,
        fields: &[(&str, &str)],
    ) -> Result<Answer, String> {
        let mut request = Request::builder().uri(url);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(Vec::new()).unwrap();
        soon(over_http3_to(address, server_name, self.client_config(), request)).await
    }

    /// Returns the configuration of a client that trusts the certificates.
    pub fn client_config(&self) -> Arc<QuicClientConfig> {
        Arc::new(QuicClientConfig::try_from(tls(&self.trust, ALPN_H3)).unwrap())
    }

    /// Returns the path of a file that the test may make.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Answers one request after the other with its own head, until the client closes. `name` is in the
/// field `X-Server`.
pub async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin, name: String) {
    let mut head = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        head.push(byte);
        if head.ends_with(b"\r\n\r\n") {
            let answer = format!(
                "HTTP/1.1 200 OK\r\nX-Server: {name}\r\nAlt-Svc: h3=\":443\"\r\n\
                 Content-Length: {}\r\n\r\n",
                head.len()
            );
            let content = std::mem::take(&mut head);
            let written = stream.write_all(&[answer.into_bytes(), content].concat()).await;
            if written.is_err() {
                return;
            }
        }
    }
}

/// Returns the URL of a web server over HTTP on the loopback, with this name.
pub async fn web(name: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(echo(stream, name.to_owned()));
        }
    });
    url
}

pub fn upstream(url: &str) -> Upstream {
    Upstream::new(url).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_host_has_its_certificate_and_its_upstream() {
    let hosts = Hosts::new();
    let sites = Sites::default().with_default(upstream(&web("all").await));
    let sites = sites.with_host("x.b.test", upstream(&web("own").await)).unwrap();
    let server = hosts.front(sites).await;
    for (host, name) in
        [("a.test", "all"), ("b.test", "all"), ("x.b.test", "own"), ("y.b.test", "all")]
    {
        let url = format!("https://{host}/page?q=1");
        let forged = [("x-forwarded-for", "192.0.2.1"), ("via", "1.1 nearer")];
        let answer = hosts.ask(&server, host, &url, &forged).await.unwrap();
        assert_eq!(answer.head.status(), 200);
        let field = |name: &str| answer.head.headers()[name].to_str().unwrap().to_owned();
        // What the site announces is its own port, which is the front's.
        assert_eq!((field("x-server"), field("alt-svc")), (name.into(), "h3=\":443\"".into()));
        let head = String::from_utf8(answer.body).unwrap().to_lowercase();
        assert!(head.starts_with("get /page?q=1 http/1.1\r\n"), "{head}");
        for line in [
            format!("host: {host}"),
            "x-forwarded-for: 127.0.0.1".to_owned(),
            "x-forwarded-proto: https".to_owned(),
            format!("x-forwarded-host: {host}"),
            format!("forwarded: for=127.0.0.1;host=\"{host}\";proto=https"),
            // nginx does not compress for requests with a Via of ours.
            "via: 1.1 nearer".to_owned(),
        ] {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
        }
    }
    // TCP is left to the web server.
    TcpListener::bind(server.address()).await.unwrap();
    assert_eq!(
        UdpSocket::bind(server.address()).await.unwrap_err().kind(),
        std::io::ErrorKind::AddrInUse
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_hosts_of_the_connections_certificate_are_answered() {
    let hosts = Hosts::new();
    let sites = Sites::default().with_default(upstream(&web("all").await));
    let server = hosts.front(sites).await;
    for (server_name, host, status) in [
        ("a.test", "a.test", 200),
        ("a.test", "A.TEST:443", 200),
        ("b.test", "x.b.test", 200),
        ("x.b.test", "b.test", 200),
        // It has a certificate, but the connection's is another.
        ("a.test", "b.test", 421),
        ("b.test", "x.y.b.test", 421),
        ("a.test", "c.test", 421),
        ("a.test", "127.0.0.1", 421),
    ] {
        let answer = hosts.ask(&server, server_name, &format!("https://{host}/"), &[]).await;
        assert_eq!(answer.unwrap().head.status(), status, "{server_name} {host}");
    }
    for server_name in ["c.test", "test", "127.0.0.1", "x.y.b.test"] {
        let error = hosts.ask(&server, server_name, "https://a.test/", &[]).await.unwrap_err();
        assert!(error.contains("closed") || error.contains("abort"), "{server_name}: {error}");
    }
    // A host without an upstream.
    let only = Sites::default().with_host("b.test", upstream(&web("b").await)).unwrap();
    let server = hosts.front(only).await;
    let answer = hosts.ask(&server, "a.test", "https://a.test/", &[]).await.unwrap();
    assert_eq!(answer.head.status(), 421);
}

/// Returns what accepts TLS with the certificate of `a.test`, and offers this protocol.
pub fn acceptor(hosts: &Hosts, alpn: Option<&[u8]>) -> TlsAcceptor {
    let directory = hosts.directory.path();
    let file = |end: &str| -> PathBuf { directory.join(format!("authority/a.test/a.test.{end}")) };
    let chain = CertificateDer::pem_file_iter(file("crt")).unwrap().map(Result::unwrap).collect();
    let key = rustls::pki_types::PrivateKeyDer::from_pem_file(file("key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = alpn.into_iter().map(<[u8]>::to_vec).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Returns a web server over TLS with the certificate of `a.test`, and the names that clients ask
/// it for.
pub async fn secure_web(hosts: &Hosts) -> (String, Arc<Mutex<Vec<String>>>) {
    let acceptor = acceptor(hosts, None);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let names = Arc::<Mutex<Vec<String>>>::default();
    let seen = names.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // The client may refuse the certificate.
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let name = stream.get_ref().1.server_name().unwrap_or("none").to_owned();
            seen.lock().unwrap().push(name);
            tokio::spawn(echo(stream, "tls".to_owned()));
        }
    });
    (url, names)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sites_own_server_is_asked_by_the_name_of_the_host() {
    let hosts = Hosts::new();
    let (url, names) = secure_web(&hosts).await;
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    // No authority vouches for the certificate, but the front has it itself.
    for _ in 0..2 {
        let answer = hosts.ask(&server, "a.test", "https://a.test/", &[]).await.unwrap();
        assert_eq!(
            (answer.head.status().as_u16(), &*names.lock().unwrap()),
            (200, &vec!["a.test".to_owned()])
        );
    }
    // It is not that of another host.
    let answer = hosts.ask(&server, "b.test", "https://b.test/", &[]).await.unwrap();
    assert_eq!(answer.head.status(), 502);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_may_be_a_socket_in_the_file_system() {
    let hosts = Hosts::new();
    let path = hosts.directory.path().join("site.sock");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(echo(stream, "unix".to_owned()));
        }
    });
    let url = format!("unix:{}", path.display());
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    let answer = hosts.ask(&server, "a.test", "https://a.test/", &[]).await.unwrap();
    assert_eq!(
        (answer.head.status().as_u16(), &answer.head.headers()["x-server"]),
        (200, &"unix".parse().unwrap())
    );
    assert!(String::from_utf8(answer.body).unwrap().contains("host: a.test\r\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewed_certificates_replace_those_before() {
    let mut hosts = Hosts::new();
    let server = hosts.front(Sites::default().with_default(upstream(&web("all").await))).await;
    let now = RealClock::new().system();
    assert!(hosts.store.reload(now).table.is_none(), "nothing has changed");

    // Half renewed: the key is not that of the certificate.
    let directory = hosts.directory.path().to_owned();
    let key = directory.join("authority/a.test/a.test.key");
    let old = fs::read(&key).unwrap();
    let renewed = write(&directory, &["a.test", "new.test"]);
    let new = fs::read(&key).unwrap();
    fs::write(&key, old).unwrap();
    let reloaded = hosts.store.reload(now);
    assert!(reloaded.table.is_none() && reloaded.warnings.len() == 1, "{reloaded:?}");
    assert!(reloaded.warnings[0].contains("it cannot be used with"), "{reloaded:?}");
    assert_eq!(hosts.store.failures().count(), 1);
    assert_eq!(hosts.store.reload(now).warnings, [""; 0], "it is said once");

    fs::write(&key, new).unwrap();
    let reloaded = hosts.store.reload(now);
    server.certificates().replace_table(reloaded.table.unwrap());
    assert_eq!((reloaded.read, hosts.store.failures().count()), (1, 0));
    let error = hosts.ask(&server, "a.test", "https://a.test/", &[]).await.unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
    hosts.trust = Trust::Only(vec![renewed]);
    for host in ["a.test", "new.test"] {
        let answer = hosts.ask(&server, host, &format!("https://{host}/"), &[]).await.unwrap();
        assert_eq!(answer.head.status(), 200);
    }

    fs::remove_dir_all(directory.join("authority/a.test")).unwrap();
    server.certificates().replace_table(hosts.store.reload(now).table.unwrap());
    assert!(hosts.ask(&server, "a.test", "https://a.test/", &[]).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sites_own_server_may_renew_its_certificate_before_the_front_and_after_it() {
    let mut hosts = Hosts::new();
    let (late, _) = secure_web(&hosts).await;
    let renewed = write(hosts.directory.path(), &["a.test"]);
    let (early, _) = secure_web(&hosts).await;
    let [late, early] = [late, early].map(|url| Sites::default().with_default(upstream(&url)));
    let [late, early] = [hosts.front(late).await, hosts.front(early).await];
    let status = async |hosts: &Hosts, server: &Server| {
        let answer = hosts.ask(server, "a.test", "https://a.test/", &[]).await;
        answer.unwrap().head.status().as_u16()
    };
    // The server has it already, and the front is told to look at the files.
    assert_eq!(status(&hosts, &early).await, 502);
    soon(early.certificates().asked_for_unknown()).await;
    let table = hosts.store.reload(RealClock::new().system()).table.unwrap();
    hosts.trust = Trust::Only(vec![renewed]);
    early.certificates().replace_table(table.clone());
    assert_eq!(status(&hosts, &early).await, 200);
    // The front has it already, and the server still shows the one before.
    late.certificates().replace_table(table);
    assert_eq!(status(&hosts, &late).await, 200);
    // A host without a certificate has none before either.
    fs::remove_dir_all(hosts.directory.path().join("authority/a.test")).unwrap();
    let table = hosts.store.reload(RealClock::new().system()).table.unwrap();
    late.certificates().replace_table(table);
    assert!(hosts.ask(&late, "a.test", "https://a.test/", &[]).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_may_have_certificates_of_both_kinds() {
    let hosts = Hosts::new();
    let rsa = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serving/rsa");
    let directories = vec![rsa, hosts.directory.path().to_owned()];
    let table = CertificateStore::new(directories).reload(RealClock::new().system()).table;
    let table = table.unwrap();
    let (_, both) = table.hosts().find(|(name, _)| *name == "a.test").unwrap();
    let kinds: Vec<&str> = both.iter().map(|one| one.kind().name()).collect();
    assert_eq!(kinds, ["ECDSA", "RSA"]);
    let sites = Sites::default().with_default(upstream(&web("all").await));
    let server = Server::front(sites, table).start().await.unwrap();
    // A client that knows RSA alone gets that certificate.
    let rsa_only = || {
        let mut provider = rustls::crypto::ring::default_provider();
        let algorithms = provider.signature_verification_algorithms;
        let rsa = |scheme: &rustls::SignatureScheme| format!("{scheme:?}").starts_with("RSA");
        let mapping: Vec<_> =
            algorithms.mapping.iter().copied().filter(|(scheme, _)| rsa(scheme)).collect();
        provider.signature_verification_algorithms.mapping = Vec::leak(mapping);
        provider
    };
    for (provider, kind) in [(rustls::crypto::ring::default_provider(), "ec"), (rsa_only(), "rsa")]
    {
        let seen = Arc::<Mutex<Vec<u8>>>::default();
        let verifier = Arc::new(Recording { provider: Arc::new(provider), seen: seen.clone() });
        let mut config = rustls::ClientConfig::builder_with_provider(verifier.provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN_H3.to_vec()];
        let config = Arc::new(QuicClientConfig::try_from(config).unwrap());
        let request = Request::builder().uri("https://a.test/").body(Vec::new()).unwrap();
        let answer = over_http3_to(server.address(), "a.test", config, request).await.unwrap();
        assert_eq!(answer.head.status(), 200);
        let Trust::Only(ec) = &hosts.trust else { panic!("test certificates") };
        assert_eq!(*seen.lock().unwrap() == ec[0].as_ref(), kind == "ec", "{kind}");
    }
}

/// Accepts each certificate, and notes it.
#[derive(Debug)]
struct Recording {
    provider: Arc<rustls::crypto::CryptoProvider>,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl rustls::client::danger::ServerCertVerifier for Recording {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        *self.seen.lock().unwrap() = own.to_vec();
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 only".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, own, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_not_held_back_and_trailers_follow() {
    let hosts = Hosts::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (go, mut going) = mpsc::channel::<()>(1);
    let heads = Arc::<Mutex<String>>::default();
    let seen = heads.clone();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = vec![0; 4096];
        let length = stream.read(&mut head).await.unwrap();
        *seen.lock().unwrap() = String::from_utf8_lossy(&head[..length]).to_lowercase();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        for event in 1..=2 {
            let text = format!("data: {event}\n\n");
            let chunk = format!("{:x}\r\n{text}\r\n", text.len());
            stream.write_all(chunk.as_bytes()).await.unwrap();
            going.recv().await.unwrap();
        }
        stream.write_all(b"0\r\nX-Sum: 7\r\nContent-Length: 1\r\n\r\n").await.unwrap();
    });
    let server = hosts.front(Sites::default().with_default(upstream(&url))).await;
    let asking = hosts.ask(&server, "a.test", "https://a.test/events", &[("te", "trailers")]);
    let sent = || server.metrics().bytes.load(std::sync::atomic::Ordering::Relaxed);
    let steps = async {
        for event in 1..=2 {
            // The server goes on only after the front has sent what there is.
            until("an event", || sent() == event * 9).await;
            go.send(()).await.unwrap();
        }
    };
    let (answer, ()) = tokio::join!(asking, steps);
    let answer = answer.unwrap();
    assert_eq!(answer.body, b"data: 1\n\ndata: 2\n\n");
    assert_eq!(answer.trailers["x-sum"], "7");
    assert!(!answer.trailers.contains_key("content-length"), "{:?}", answer.trailers);
    assert!(heads.lock().unwrap().contains("\r\nte: trailers\r\n"), "{}", heads.lock().unwrap());
}
