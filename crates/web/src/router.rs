//! The routes of the site, and the error pages.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Path, Query as Parameters, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, LOCATION,
    ORIGIN, REFERRER_POLICY, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use pages::assets::Asset;
use store::{Problem, RunId, Tag, Which};

use crate::Server;
use crate::access::{Admission, Credentials};
use crate::assets::{self, BELOW, Needs};
use crate::metrics::OPENMETRICS;
use crate::query::{FLEET, HISTORY, LIST, Query};
use crate::store_client::QueryError;
use crate::views::{compare, fleet, history, list, live, run, sentence};

struct Shared {
    server: Server,
    assets: Vec<(String, Asset)>,
    policy: HeaderValue,
}

type Site = State<Arc<Shared>>;
type Pairs = Vec<(String, String)>;

pub fn router(server: Server) -> Router {
    let policy = format!("{}; frame-ancestors 'none'", pages::shell::policy(Needs::Plain.assets()));
    // Built from ASCII constants.
    let policy = HeaderValue::from_str(&policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    let shared = Arc::new(Shared { server, assets: assets::served(), policy });
    Router::new()
        .route("/", get(runs))
        .route("/compare", get(compared))
        .route("/fleet", get(drives))
        .route("/history", get(history))
        .route("/live", get(running))
        .route("/metrics", get(metrics))
        .route("/run/{run}", get(one_run))
        .route("/run/{run}/report.html", get(report))
        .route("/run/{run}/card.svg", get(card))
        .route("/run/{run}/tag", post(tag))
        .route("/run/{run}/untag", post(untag))
        .route("/run/{run}/note", post(note))
        .route("/assets/{name}", get(asset))
        .fallback(unknown)
        .method_not_allowed_fallback(not_so)
        .layer(from_fn_with_state(shared.clone(), guarded))
        .with_state(shared)
}

/// Why a request gets an error page.
enum Refusal {
    /// The store has a problem, or does not answer.
    Query(QueryError),
    /// The request is wrong: status, heading, explanation.
    Wrong(StatusCode, &'static str, String),
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Refusal {
        Refusal::Query(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, heading, said) = match self {
            Refusal::Wrong(status, heading, said) => (status, heading, said),
            Refusal::Query(QueryError::Store(error)) => match error.problem {
                Problem::NoRun(_) => (StatusCode::NOT_FOUND, "No such run", sentence_of(&error)),
                _ => (
                    StatusCode::SERVICE_UNAVAILABLE,
                    "The store cannot be read",
                    sentence_of(&error),
                ),
            },
            Refusal::Query(silent @ QueryError::TimedOut(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "The store does not answer", sentence_of(&silent))
            }
            Refusal::Query(broken @ QueryError::Panicked) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "Bug in flushmark", sentence_of(&broken))
            }
        };
        (status, Html(sentence::page(heading, &said))).into_response()
    }
}

/// Turns an error into a sentence: errors start in lower case and have no full stop.
fn sentence_of(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).chain(['.']).collect())
        .unwrap_or_default()
}

fn wrong(heading: &'static str, said: impl Into<String>) -> Refusal {
    Refusal::Wrong(StatusCode::BAD_REQUEST, heading, said.into())
}

/// Replaces error responses of the framework by pages, so users never see a library's messages or a
/// blank page.
fn in_words(response: Response) -> Response {
    let status = response.status();
    let is_page = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if is_page || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (heading, said) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ("Too long", "The note is too long, and nothing was changed; shorten it and try again.")
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "Not a form",
            "This request is not a form of these pages, and nothing was changed; use the forms on \
             a run's page.",
        ),
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => (
            "Invalid request",
            "This address, or the submitted form, is invalid; start from the list of runs.",
        ),
        _ => (
            "No answer",
            "The server could not answer this request; see the terminal in which `flushmark web` \
             runs for details.",
        ),
    };
    Refusal::Wrong(status, heading, said.to_owned()).into_response()
}

/// Admits or refuses requests, and gives every answer the headers that keep other sites out.
async fn guarded(State(shared): Site, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let query = request.uri().query().unwrap_or_default();
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    let asked = Credentials {
        host: text(HOST),
        cookies: text(COOKIE),
        token,
        authorization: text(AUTHORIZATION),
    };
    let access = &shared.server.access;
    // A proxy and this server could each use a different one (RFC 9112, section 3.2).
    let is_ambiguous = headers.get_all(HOST).iter().count() > 1;
    let mut response = match access.admit(&asked) {
        _ if is_ambiguous => wrong(
            "Two host names",
            "This request has more than one `Host` header, so it is not \
                                     answered.",
        )
        .into_response(),
        Admission::Admitted => in_words(next.run(request).await),
        Admission::TokenInAddress => welcome(&request, access.cookie()),
        // Styles are not secret, and the refusal needs them.
        Admission::NoToken | Admission::WrongHost if request.uri().path().starts_with(BELOW) => {
            in_words(next.run(request).await)
        }
        Admission::NoToken => {
            let said = "Open the complete address that `flushmark web` printed at its start, \
                        including ?token=; it changes with each start.";
            // The status requires a scheme. Browsers do not know this one, so they ask for no
            // password.
            let scheme = [(WWW_AUTHENTICATE, "Token realm=\"flushmark web\"")];
            let refusal = Refusal::Wrong(
                StatusCode::UNAUTHORIZED,
                "This page needs its token",
                said.to_owned(),
            );
            (scheme, refusal).into_response()
        }
        Admission::WrongHost => Refusal::Wrong(
            StatusCode::MISDIRECTED_REQUEST,
            "Wrong host name",
            format!(
                "This server answers only requests from this machine under its own host name. Open \
                 {}",
                access.address()
            ),
        )
        .into_response(),
    };
    let headers = response.headers_mut();
    // A report that is downloaded brings its own, stricter policy.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert_with(|| shared.policy.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Redirects to the same address without the token, which is now a cookie.
fn welcome(request: &Request, cookie: Option<String>) -> Response {
    let rest: Vec<&str> = request
        .uri()
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.starts_with("token="))
        .collect();
    // A path that begins with two slashes would name another host.
    let path = format!("/{}", request.uri().path().trim_start_matches('/'));
    let target = if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) };
    let headers = [(LOCATION, Some(target)), (SET_COOKIE, cookie)];
    let headers = headers
        .into_iter()
        .filter_map(|(name, value)| Some((name, HeaderValue::from_str(&value?).ok()?)));
    (StatusCode::SEE_OTHER, headers.collect::<HeaderMap>()).into_response()
}

async fn runs(
    State(shared): Site,
    Parameters(pairs): Parameters<Pairs>,
) -> Result<Response, Refusal> {
    let query = Query::read(&LIST, &pairs);
    let filter = match query.runs() {
        Ok(filter) => filter,
        Err(fields) => {
            return Ok(
                (StatusCode::BAD_REQUEST, Html(list::wrong(&query, &fields))).into_response()
            );
        }
    };
    let store = &shared.server.store;
    let found = match store.query(move |store| store.list(&filter)).await {
        Ok(found) => found,
        Err(QueryError::Store(error)) if matches!(error.problem, Problem::Absent) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let is_first = !query.narrows() && query.page == 0;
    let page = if found.is_empty() && is_first {
        list::empty(store.location())
    } else {
        list::page(&query, &found)
    };
    Ok(Html(page).into_response())
}

async fn drives(
    State(shared): Site,
    Parameters(pairs): Parameters<Pairs>,
) -> Result<Response, Refusal> {
    let query = Query::read(&FLEET, &pairs);
    let wanted = match query.wanted() {
        Ok(wanted) => wanted,
        Err(fields) => {
            return Ok(
                (StatusCode::BAD_REQUEST, Html(fleet::wrong(&query, &fields))).into_response()
            );
        }
    };
    let draw = move |store: &mut store::Store| {
        let mut figures = store.figures(Which::Newest, &wanted.runs)?;
        wanted.drives.retain(&mut figures);
        Ok(fleet::page(&query, &figures))
    };
    Ok(Html(shared.server.store.query(draw).await?).into_response())
}

/// The trends of a model or of a host; without either, links to them.
async fn history(
    State(shared): Site,
    Parameters(pairs): Parameters<Pairs>,
) -> Result<Response, Refusal> {
    let query = Query::read(&HISTORY, &pairs);
    let wanted = match query.wanted() {
        Ok(wanted) => wanted,
        Err(fields) => {
            return Ok(
                (StatusCode::BAD_REQUEST, Html(history::wrong(&query, &fields))).into_response()
            );
        }
    };
    let draw = move |store: &mut store::Store| {
        if !query.narrows() {
            return Ok(history::index(&query, &store.figures(Which::Newest, &wanted.runs)?));
        }
        let newest = store::Filter { limit: Some(history::RUNS_MAX), ..wanted.runs };
        let runs = store.list(&newest)?;
        let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        Ok(history::page(&query, &runs, &store.headers(&ids)?.into_iter().collect()))
    };
    Ok(Html(shared.server.store.query(draw).await?).into_response())
}

/// The newest runs of all hosts, or of those that a filter of the fleet's page chooses.
async fn metrics(
    State(shared): Site,
    Parameters(pairs): Parameters<Pairs>,
) -> Result<Response, Refusal> {
    let wanted = Query::read(&FLEET, &pairs).wanted().map_err(|fields| {
        let said: Vec<&str> = fields.iter().map(|(_, said)| said.as_str()).collect();
        wrong("Invalid filter", said.join("; "))
    })?;
    let read = move |store: &mut store::Store| {
        let mut figures = store.figures(Which::Newest, &wanted.runs)?;
        wanted.drives.retain(&mut figures);
        let runs =
            figures.runs.iter().map(|run| Ok((run.host.clone(), store.get(run.id)?.document)));
        let runs: Vec<_> = runs.collect::<Result<_, store::StoreError>>()?;
        Ok(formats::openmetrics::of_machines(&runs))
    };
    let text = shared.server.store.query(read).await?;
    Ok(([(CONTENT_TYPE, OPENMETRICS)], text).into_response())
}

async fn compared(
    State(shared): Site,
    Parameters(pairs): Parameters<Pairs>,
) -> Result<Html<String>, Refusal> {
    let mut runs: Vec<RunId> = Vec::new();
    for (_, text) in pairs.iter().filter(|(name, _)| name == "run") {
        let run = run_id(text)?;
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    if runs.len() < 2 {
        return Err(wrong(
            "Nothing to compare",
            "Select two or more runs in the list, then press Compare.",
        ));
    }
    if runs.len() > compare::RUNS_MAX {
        let most = compare::RUNS_MAX;
        return Err(wrong(
            "Too many runs",
            format!("At most {most} runs are drawn side by side; select fewer."),
        ));
    }
    // Rendered in the blocking thread, too: a page of many tests takes a while.
    let draw = move |store: &mut store::Store| {
        let kept = runs.iter().map(|&run| store.get(run)).collect::<Result<Vec<_>, _>>()?;
        Ok(compare::page(kept))
    };
    Ok(Html(shared.server.store.query(draw).await?))
}

async fn running(State(shared): Site) -> Html<String> {
    Html(live::page(&(shared.server.running)(), shared.server.store.location()))
}

async fn one_run(State(shared): Site, Path(name): Path<String>) -> Result<Response, Refusal> {
    let store = &shared.server.store;
    if let Some(number) = name.strip_suffix(".json") {
        let run = run_id(number)?;
        let json = store.query(move |store| Ok(report::json(&store.get(run)?.document))).await?;
        return Ok(([(CONTENT_TYPE, "application/json")], json).into_response());
    }
    let run = run_id(&name)?;
    let word = shared.server.access.form_secret().to_owned();
    let page = store.query(move |store| Ok(run::page(&store.get(run)?, &word))).await?;
    Ok(Html(page).into_response())
}

async fn report(State(shared): Site, Path(name): Path<String>) -> Result<Response, Refusal> {
    let run = run_id(&name)?;
    let draw = move |store: &mut store::Store| {
        let kept = store.get(run)?;
        Ok(run::report(&kept.summary, &kept.document))
    };
    let page = shared.server.store.query(draw).await?;
    let policy = format!("{}; sandbox allow-scripts", pages::shell::policy(pages::Assets::Inline));
    Ok(([(CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response())
}

async fn card(State(shared): Site, Path(name): Path<String>) -> Result<Response, Refusal> {
    let run = run_id(&name)?;
    let draw = move |store: &mut store::Store| {
        let kept = store.get(run)?;
        Ok(run::card(&kept.summary, &kept.document))
    };
    let card = shared.server.store.query(draw).await?;
    Ok(([(CONTENT_TYPE, "image/svg+xml")], card).into_response())
}

async fn asset(State(shared): Site, Path(name): Path<String>) -> Response {
    match shared.assets.iter().find(|(known, _)| *known == name) {
        // The name contains the digest, so the content never changes.
        Some((_, asset)) => {
            let keep = "public, max-age=31536000, immutable";
            ([(CONTENT_TYPE, asset.media_type), (CACHE_CONTROL, keep)], asset.text).into_response()
        }
        None => unknown().await.into_response(),
    }
}

async fn tag(
    site: Site,
    Path(name): Path<String>,
    headers: HeaderMap,
    Form(pairs): Form<Pairs>,
) -> Result<Response, Refusal> {
    let (run, tag) = (run_id(&name)?, tag_in(&pairs)?);
    change(&site, run, &headers, &pairs, move |store| store.tag(run, &[tag])).await
}

async fn untag(
    site: Site,
    Path(name): Path<String>,
    headers: HeaderMap,
    Form(pairs): Form<Pairs>,
) -> Result<Response, Refusal> {
    let (run, tag) = (run_id(&name)?, tag_in(&pairs)?);
    change(&site, run, &headers, &pairs, move |store| store.untag(run, &[tag])).await
}

async fn note(
    site: Site,
    Path(name): Path<String>,
    headers: HeaderMap,
    Form(pairs): Form<Pairs>,
) -> Result<Response, Refusal> {
    let run = run_id(&name)?;
    // Forms send line ends as CR LF.
    let text = value(&pairs, "note").unwrap_or_default().replace("\r\n", "\n").trim().to_owned();
    change(&site, run, &headers, &pairs, move |store| store.note(run, &text)).await
}

/// Applies a change that a form requested, then shows the run again.
async fn change(
    State(shared): &Site,
    run: RunId,
    headers: &HeaderMap,
    pairs: &Pairs,
    work: impl FnOnce(&mut store::Store) -> Result<(), store::StoreError> + Send + 'static,
) -> Result<Response, Refusal> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if !shared.server.access.may_change(text(ORIGIN), text(HOST), value(pairs, "word")) {
        return Err(Refusal::Wrong(
            StatusCode::FORBIDDEN,
            "Form refused",
            "Tags and notes can only be changed from this server's own pages. If you came from \
             one, the server was restarted since: reload the run's page and try again."
                .to_owned(),
        ));
    }
    shared.server.store.query(work).await?;
    Ok((StatusCode::SEE_OTHER, [(LOCATION, format!("/run/{run}"))]).into_response())
}

fn value<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn run_id(text: &str) -> Result<RunId, Refusal> {
    text.parse().map_err(|_| {
        Refusal::Wrong(
            StatusCode::NOT_FOUND,
            "No such run",
            format!("“{text}” is not the number of a run; the list shows the numbers."),
        )
    })
}

fn tag_in(pairs: &Pairs) -> Result<Tag, Refusal> {
    let text = value(pairs, "tag").unwrap_or_default().trim();
    text.parse().map_err(|error| wrong("Not a tag", format!("{error}.")))
}

async fn not_so(method: Method) -> Response {
    let said = match method {
        Method::GET | Method::HEAD => {
            "This address only accepts the form on a run's page; open the run from the list."
                .to_owned()
        }
        other => {
            format!(
                "This address does not accept {other}; open it in a browser, or use the forms on a \
                 run's page."
            )
        }
    };
    Refusal::Wrong(StatusCode::METHOD_NOT_ALLOWED, "Wrong method", said).into_response()
}

async fn unknown() -> Response {
    Refusal::Wrong(
        StatusCode::NOT_FOUND,
        "No such page",
        "There is no page at this address.".to_owned(),
    )
    .into_response()
}
