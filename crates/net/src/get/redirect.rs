//! Redirects of the server (RFC 9110 §15.4).

use http::header::LOCATION;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Response, StatusCode, Uri};

/// Redirects of one download that are followed. Our choice, as in browsers.
pub(super) const MAX_REDIRECTS: usize = 20;

/// Returns where the response to a request for `url` redirects to. `None` if it does not.
///
/// # Errors
/// What is wrong with the target.
pub(super) fn target(url: &Uri, head: &Response<()>) -> Result<Option<Uri>, String> {
    let follows = matches!(
        head.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let Some(location) = head.headers().get(LOCATION).filter(|_| follows) else { return Ok(None) };
    let wrong = || format!("the server redirects to `{}`", location.as_bytes().escape_ascii());
    let text = location.to_str().map_err(|_| format!("{}, which is not a URL", wrong()))?;
    let target = resolve(url, text).ok_or_else(|| format!("{}, which is not a URL", wrong()))?;
    if target.scheme() != Some(&Scheme::HTTPS) {
        return Err(format!("{}; allowed: https", wrong()));
    }
    Ok(Some(target))
}

/// Resolves `reference` against `base` (RFC 3986 §5.2), without its fragment.
fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next()?;
    let (scheme, authority) = (base.scheme()?.clone(), base.authority()?.clone());
    if has_scheme(reference) {
        return reference.parse().ok();
    }
    if let Some(rest) = reference.strip_prefix("//") {
        return format!("{scheme}://{rest}").parse().ok();
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let (path, query) = match (path, query) {
        ("", None) => (base.path().to_owned(), base.query()),
        ("", query) => (base.path().to_owned(), query),
        (path, query) if path.starts_with('/') => (without_dots(path), query),
        (path, query) => {
            let directory = base.path().rsplit_once('/').map_or("", |(directory, _)| directory);
            (without_dots(&format!("{directory}/{path}")), query)
        }
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    built(scheme, authority, &format!("{path}{query}"))
}

fn built(scheme: Scheme, authority: Authority, path: &str) -> Option<Uri> {
    let path: PathAndQuery = path.parse().ok()?;
    Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build().ok()
}

/// Returns whether a reference begins with a scheme (RFC 3986 §3.1).
fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Removes the segments `.` and `..` of an absolute path (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_in_rfc_3986() {
        // The examples of §5.4, as far as they apply.
        let base: Uri = "https://a/b/c/d;p?q".parse().unwrap();
        for (reference, expected) in [
            ("https://h/x", "https://h/x"),
            ("g", "https://a/b/c/g"),
            ("./g", "https://a/b/c/g"),
            ("g/", "https://a/b/c/g/"),
            ("/g", "https://a/g"),
            ("//g", "https://g/"),
            ("?y", "https://a/b/c/d;p?y"),
            ("g?y", "https://a/b/c/g?y"),
            ("g#s", "https://a/b/c/g"),
            ("", "https://a/b/c/d;p?q"),
            (".", "https://a/b/c/"),
            ("..", "https://a/b/"),
            ("../g", "https://a/b/g"),
            ("../../../g", "https://a/g"),
            ("/./g", "https://a/g"),
            ("g/../h", "https://a/b/c/h"),
            ("g?y/../x", "https://a/b/c/g?y/../x"),
        ] {
            let resolved = resolve(&base, reference).map(|uri| uri.to_string());
            assert_eq!(resolved.as_deref(), Some(expected), "{reference}");
        }
    }

    #[test]
    fn only_https_is_followed_and_only_with_a_location() {
        let url = "https://a/f".parse().unwrap();
        let head = |status: u16, location: Option<&str>| {
            let mut head = Response::builder().status(status);
            if let Some(location) = location {
                head = head.header(LOCATION, location);
            }
            head.body(()).unwrap()
        };
        for status in [301, 302, 303, 307, 308] {
            let found = target(&url, &head(status, Some("/g"))).unwrap().unwrap();
            assert_eq!(found, "https://a/g");
        }
        assert_eq!(target(&url, &head(302, None)), Ok(None));
        assert_eq!(target(&url, &head(200, Some("/g"))), Ok(None));
        for wrong in ["http://a/g", "file:///etc/passwd", "javascript:alert(1)", "https://["] {
            let error = target(&url, &head(302, Some(wrong))).unwrap_err();
            assert!(error.contains("redirects to"), "{error}");
        }
    }
}
