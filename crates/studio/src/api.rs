//! What each request does. Called in a thread that may block.

use crate::check::{Checked, MAX_CASES, possible_keys, profile_names};
use crate::edit::{Edit, edit};
use crate::files::{Directory, FileError, Replaced, Written, digest};
use crate::import::{self, Asked, Refused};
use crate::outlook::Outlook;
use crate::patience::{Abandoned, CHECK_TIME, TRY_TIME};
use crate::responses::{self, FullResponse};
use crate::runs::Runs;
use bentpipe_lab::{Changes, LabError, Plan, PlanLimit};
use bentpipe_orbit::{cities, presets};
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The page that the build has embedded; empty if it was not built.
const PAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/studio.html"));
/// What is shown instead.
const NO_PAGE: &str = "<!doctype html><title>Bentpipe studio</title><p>This <code>bentpipe</code> \
    was built without the studio's page; to build it: <code>make build</code>";

/// State of a studio.
pub struct Api {
    /// Scenarios.
    pub directory: Directory,
    /// Runs.
    pub runs: Runs,
    /// Returns the simulator that exported reports bring along.
    pub engine: fn() -> Result<String, LabError>,
}

/// A request whose sender may ask.
#[derive(Debug)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Its path below the secret.
    pub path: String,
    /// Its query.
    pub query: String,
    /// Its field `If-Match`.
    pub if_match: Option<String>,
    /// Its field `If-None-Match`.
    pub if_none_match: Option<String>,
    /// Its content.
    pub content: Vec<u8>,
    /// Whether its sender has left.
    pub abandoned: Abandoned,
}

/// An error with its status.
type Failure = (StatusCode, String);

impl Api {
    /// Answers a request.
    pub fn answer(&self, request: &Request) -> FullResponse {
        self.route(request).unwrap_or_else(|(status, reason)| responses::failure(status, &reason))
    }

    #[expect(clippy::too_many_lines, reason = "a table of paths")]
    fn route(&self, request: &Request) -> Result<FullResponse, Failure> {
        let parts: Vec<&str> = request.path.split('/').collect();
        let get = request.method == Method::GET;
        let post = request.method == Method::POST;
        match *parts.as_slice() {
            [""] if get && PAGE.is_empty() => Ok(responses::page(NO_PAGE)),
            [""] if get => Ok(responses::page(PAGE)),
            ["globe.js"] if get => Ok(responses::script(bentpipe_report::globe_script())),
            ["api", "scenarios"] if get => {
                let (names, titles): (Vec<_>, Vec<_>) = self.directory.list().into_iter().unzip();
                Ok(responses::json(&serde_json::json!({
                    "directory": self.directory.path(),
                    "scenarios": names,
                    "titles": titles,
                })))
            }
            ["api", "scenarios", ..] => self.scenario(request),
            ["api", "schema"] if get => Ok(responses::json(&bentpipe_scenario::json_schema())),
            ["api", "names"] if get => {
                let constellations: Vec<&str> =
                    presets::names().iter().map(|(name, _)| *name).collect();
                let cities: Vec<&str> = cities::all().iter().map(|(name, _)| *name).collect();
                Ok(responses::json(&serde_json::json!({
                    "constellations": constellations,
                    "cities": cities,
                })))
            }
            ["api", "profiles"] if get => Ok(responses::json(&profile_names())),
            ["api", "check"] if post => self.check(request),
            ["api", "outlook"] if post => self.outlook(request),
            ["api", "edit"] if post => {
                let asked: Edit = serde_json::from_slice(&request.content)
                    .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
                let edited = edit(&asked).map_err(|reason| (StatusCode::BAD_REQUEST, reason))?;
                Ok(responses::json(&edited))
            }
            ["api", "import"] if post => {
                let asked: Asked = serde_json::from_str(&request.parameter("request")?)
                    .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
                let made = import::import(&self.directory, asked, &request.content);
                let made = made.map_err(|error| match error {
                    Refused::Content(reason) => (StatusCode::UNPROCESSABLE_ENTITY, reason),
                    Refused::File(error) => refused(error),
                })?;
                Ok(responses::json(&made))
            }
            ["api", "runs"] if get => Ok(responses::json(&self.runs.list())),
            ["api", "runs"] if post => self.start(request),
            ["api", "runs", id] if get => {
                let details = self.runs.get(number(id)?).ok_or_else(|| missing(request))?;
                Ok(responses::json(&details))
            }
            ["api", "runs", id] if request.method == Method::DELETE => {
                if self.runs.cancel(number(id)?) {
                    Ok(responses::done())
                } else {
                    Err(missing(request))
                }
            }
            ["api", "runs", id, "scenario"] if get => {
                let details = self.runs.get(number(id)?).ok_or_else(|| missing(request))?;
                Ok(responses::text(details.state.text.to_string()))
            }
            ["api", "runs", id, "data"] if get => {
                let directory = self.runs.directory(number(id)?).ok_or_else(|| missing(request))?;
                let data = bentpipe_lab::page_data(&directory)
                    .map_err(|error| (StatusCode::NOT_FOUND, error.to_string()))?;
                Ok(responses::text(data))
            }
            ["runs", id, file @ ("report.html" | "results.json")] if get => {
                let directory = self.runs.directory(number(id)?).ok_or_else(|| missing(request))?;
                let bytes = fs::read(directory.join(file)).map_err(|_| missing(request))?;
                Ok(if file == "report.html" {
                    responses::report(bytes)
                } else {
                    responses::json_file(bytes)
                })
            }
            ["runs", id, "editable.html"] if get => {
                let directory = self.runs.directory(number(id)?).ok_or_else(|| missing(request))?;
                let page = (self.engine)()
                    .and_then(|engine| bentpipe_lab::editable(&directory, &engine))
                    .map_err(|error| (StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
                Ok(responses::report(page))
            }
            _ => Err(missing(request)),
        }
    }

    fn scenario(&self, request: &Request) -> Result<FullResponse, Failure> {
        let name = request.path.strip_prefix("api/scenarios/").unwrap_or_default();
        let name = percent_decode_str(name)
            .decode_utf8()
            .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
        if request.method == Method::GET {
            let text = self.directory.read(&name).map_err(refused)?;
            return Ok(responses::tagged(digest(&text), responses::text(text)));
        }
        if request.method == Method::PUT {
            self.directory.base(&name).map_err(refused)?;
            let (text, replaced) = (request.text()?, request.replaced()?);
            return match self.directory.write(&name, text, &replaced).map_err(refused)? {
                Written::Done => Ok(responses::tagged(digest(text), responses::done())),
                // The page shows both texts.
                Written::Conflict(other) => Ok(responses::conflict(other)),
            };
        }
        Err(missing(request))
    }

    fn check(&self, request: &Request) -> Result<FullResponse, Failure> {
        let planned = self.plan(request, CHECK_TIME)?;
        let in_store = |plan: &Plan| self.runs.in_store(plan, request.abandoned.flag());
        Ok(responses::json(&Checked::new(request.text()?, planned, in_store)))
    }

    fn outlook(&self, request: &Request) -> Result<FullResponse, Failure> {
        let invalid = |error: LabError| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string());
        let planned = self.plan(request, CHECK_TIME)?;
        let planned = planned.and_then(Plan::on_virtual_clock).map_err(invalid)?;
        let (name, text) = (request.parameter("file")?, request.text()?);
        let base = self.directory.base(&name).map_err(refused)?;
        let stop = request.abandoned.or_after(TRY_TIME);
        let mut possible = possible_keys(text, &planned, |text| plan(&name, text, &base, &stop));
        if stop() {
            // Those that were not tried are not known to be impossible.
            possible.clear();
        }
        let estimate = self.runs.estimate(&planned, request.abandoned.flag());
        let outlook = Outlook::new(&planned, estimate, possible).map_err(invalid)?;
        Ok(responses::json(&outlook))
    }

    /// Plans the text of a request as the file that it names, unless that is too large for the
    /// studio, takes longer than `time`, or nobody waits for it any more.
    fn plan(&self, request: &Request, time: Duration) -> Result<Result<Plan, LabError>, Failure> {
        let (name, text) = (request.parameter("file")?, request.text()?);
        let base = self.directory.base(&name).map_err(refused)?;
        Ok(plan(&name, text, &base, &request.abandoned.or_after(time)))
    }

    fn start(&self, request: &Request) -> Result<FullResponse, Failure> {
        // It has to be planned, which whoever has asked waits for.
        let plan = self
            .plan(request, Duration::MAX)?
            .and_then(Plan::on_virtual_clock)
            .map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
        let (name, text) = (request.parameter("file")?, request.text()?);
        let latest = request.parameter("latest").is_ok();
        let id = self
            .runs
            .start(&name, text, plan, latest)
            .map_err(|reason| (StatusCode::TOO_MANY_REQUESTS, reason))?;
        Ok(responses::json(&serde_json::json!({ "id": id })))
    }
}

/// Plans `text` as the file `name` in the directory `base`, until `stop` returns true.
fn plan(name: &str, text: &str, base: &Path, stop: &dyn Fn() -> bool) -> Result<Plan, LabError> {
    let limit = PlanLimit { max_cases: MAX_CASES, stop };
    let plan = Plan::parse_up_to(name, text, base, &Changes::default(), limit);
    plan.map_err(LabError::from)
}

impl Request {
    fn text(&self) -> Result<&str, Failure> {
        str::from_utf8(&self.content)
            .map_err(|_| (StatusCode::BAD_REQUEST, "the text is not UTF-8".to_owned()))
    }

    /// Returns what the sender wants to replace, as HTTP says it (RFC 9110 section 13.1).
    fn replaced(&self) -> Result<Replaced, Failure> {
        match (&self.if_match, &self.if_none_match) {
            (Some(digest), None) => Ok(Replaced::Text(digest.trim_matches('"').to_owned())),
            (None, Some(any)) if any == "*" => Ok(Replaced::Nothing),
            _ => Err((
                StatusCode::PRECONDITION_REQUIRED,
                "which text to replace is not said; allowed: If-Match with the ETag of a text \
                    that was read, or If-None-Match: * for a new file"
                    .to_owned(),
            )),
        }
    }

    fn parameter(&self, key: &str) -> Result<String, Failure> {
        self.query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(name, _)| *name == key)
            .and_then(|(_, value)| percent_decode_str(value).decode_utf8().ok())
            .map(|value| value.into_owned())
            .ok_or_else(|| (StatusCode::BAD_REQUEST, format!("the query lacks `{key}`")))
    }
}

/// Returns true if a request is for the page of a report.
pub fn is_report(method: &Method, path: &str) -> bool {
    let file = path.strip_prefix("runs/").and_then(|path| path.split_once('/'));
    method == Method::GET && matches!(file, Some((_, "report.html" | "editable.html")))
}

fn number(text: &str) -> Result<u64, Failure> {
    text.parse()
        .map_err(|_| (StatusCode::NOT_FOUND, format!("`{text}` is not the number of a run")))
}

fn refused(error: FileError) -> Failure {
    let status = match &error {
        FileError::Name(_) | FileError::NewDirectory { .. } => StatusCode::FORBIDDEN,
        FileError::Content { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        FileError::Io { source, .. } => match source.kind() {
            std::io::ErrorKind::NotFound => StatusCode::NOT_FOUND,
            _ => StatusCode::FORBIDDEN,
        },
    };
    (status, error.to_string())
}

fn missing(request: &Request) -> Failure {
    (StatusCode::NOT_FOUND, format!("{} {} is not known", request.method, request.path))
}
