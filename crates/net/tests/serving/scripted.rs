//! An HTTP/3 server whose responses a test determines, valid or not.

use bentpipe_net::get::Client;
use bentpipe_net::{Driver, RealClock, Socket, Trust};
use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::tls::{self, ALPN_H3, Identity, Randomness};
use bentpipe_quic::{Accept, Attachments, Conn, Endpoint, Http3, Task};
use bentpipe_units::Span;
use bytes::Bytes;
use h3::error::Code;
use h3::server::RequestResolver;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// A step of the server after the head of a response.
pub enum Step {
    /// Sends content.
    Send(Vec<u8>),
    /// Waits until the test adds a permit.
    Wait(Arc<Semaphore>),
    /// Resets the stream and ends the response.
    Reset,
}

/// A response: its head and its steps.
pub struct ScriptedResponse {
    status: u16,
    headers: HeaderMap,
    steps: Vec<Step>,
    trailers: Option<HeaderMap>,
}

fn fields(fields: &[(&'static str, &str)]) -> HeaderMap {
    let field = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
    };
    fields.iter().map(field).collect()
}

impl ScriptedResponse {
    pub fn new(status: u16, headers: &[(&'static str, &str)], steps: Vec<Step>) -> Self {
        Self { status, headers: fields(headers), steps, trailers: None }
    }

    /// Returns a response with complete content.
    pub fn whole(status: u16, headers: &[(&'static str, &str)], content: &[u8]) -> Self {
        Self::new(status, headers, vec![Step::Send(content.to_vec())])
    }

    pub fn trailers(mut self, trailers: &[(&'static str, &str)]) -> Self {
        self.trailers = Some(fields(trailers));
        self
    }
}

type Script = Arc<dyn Fn(&Request<()>) -> ScriptedResponse + Send + Sync>;

/// A server on the loopback. It ends with the test's runtime.
pub struct Scripted {
    address: SocketAddr,
    trust: Trust,
    requests: Arc<Mutex<Vec<HeaderMap>>>,
    /// Keeps the endpoint alive.
    _driver: Driver,
}

impl Scripted {
    pub fn new(script: impl Fn(&Request<()>) -> ScriptedResponse + Send + Sync + 'static) -> Self {
        let clock = RealClock::new();
        let identity = Identity::self_signed("127.0.0.1", [1; 32]).unwrap();
        let crypto =
            tls::server(&identity, ALPN_H3, Randomness::System, clock.epoch(), None).unwrap();
        let config = Arc::new(ServerConfig::with_crypto(Arc::new(crypto)));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = requests.clone();
        let script: Script = Arc::new(move |request| {
            received.lock().unwrap().push(request.headers().clone());
            script(request)
        });
        let accepted = config.clone();
        let acceptor = move |_| {
            let script = script.clone();
            let app = Box::new(move |conn| Box::pin(serve(conn, script)) as Task);
            Some(Accept { config: accepted.clone(), attachments: Attachments::default(), app })
        };
        let socket = Socket::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = socket.local_addr().unwrap();
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            clock.base(),
            Some((config, Box::new(acceptor))),
            socket.max_segments(1452),
        );
        let (driver, _) = Driver::start(endpoint, socket, clock);
        Self { address, trust: Trust::Only(identity.certificates), requests, _driver: driver }
    }

    pub fn client(&self) -> Client {
        Client::builder()
            .trust(self.trust.clone())
            .handshake_time(Span::from_secs(5))
            .build()
            .unwrap()
    }

    pub fn url(&self, path: &str) -> Uri {
        format!("https://{}{path}", self.address).parse().unwrap()
    }

    /// Returns the header fields of the requests so far, in order.
    pub fn requests(&self) -> Vec<HeaderMap> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(conn: Conn, script: Script) {
    let built = h3::server::builder().build::<_, Bytes>(Http3::new(conn.clone(), 1 << 20)).await;
    let Ok(mut connection) = built else { return };
    while let Ok(Some(resolver)) = connection.accept().await {
        let script = script.clone();
        // A client that is gone ends the response early.
        conn.spawn(async move { drop(answer(resolver, script).await) });
    }
}

async fn answer(
    resolver: RequestResolver<Http3, Bytes>,
    script: Script,
) -> Result<(), h3::error::StreamError> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let ScriptedResponse { status, headers, steps, trailers } = script(&request);
    let mut head = Response::builder().status(status).body(()).unwrap();
    *head.headers_mut() = headers;
    stream.send_response(head).await?;
    for step in steps {
        match step {
            Step::Send(content) => stream.send_data(content.into()).await?,
            Step::Wait(permits) => permits.acquire().await.unwrap().forget(),
            Step::Reset => {
                stream.stop_stream(Code::H3_INTERNAL_ERROR);
                return Ok(());
            }
        }
    }
    if let Some(trailers) = trailers {
        stream.send_trailers(trailers).await?;
    }
    stream.finish().await
}
