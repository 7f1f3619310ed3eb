//! Media types of files (RFC 9110 §8.3).

use std::path::Path;

/// Media types by extension, in lower case. Types and parameters are from the IANA registry.
const TYPES: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("bin", "application/octet-stream"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("md", "text/markdown; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpd", "application/dash+xml"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("toml", "application/toml"),
    ("ts", "video/mp2t"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

/// Returns the media type of a file name. Defaults to `application/octet-stream`.
pub fn of(name: &Path) -> &'static str {
    let extension =
        name.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let known = extension
        .and_then(|extension| TYPES.binary_search_by(|(known, _)| (*known).cmp(&extension)).ok());
    known.map_or("application/octet-stream", |index| TYPES[index].1)
}

/// Returns whether files of this type become smaller when they are compressed, so that a compressed
/// one may be beside them.
pub fn is_compressible(content_type: &str) -> bool {
    content_type.starts_with("text/")
        || content_type.ends_with("xml")
        || content_type.ends_with("mpegurl")
        || ["application/json", "application/toml", "application/wasm"].contains(&content_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_determine_the_type() {
        assert!(TYPES.is_sorted(), "the search needs it");
        assert_eq!(of(Path::new("a/index.HTML")), "text/html; charset=utf-8");
        assert_eq!(of(Path::new("archive.tar.gz")), "application/gzip");
        assert_eq!(of(Path::new("README")), "application/octet-stream");
    }
}
