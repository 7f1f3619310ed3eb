//! The time series that fit in a page.

use crate::constellation::ConstellationView;
use crate::downsample;
use crate::recording::Recording;
use crate::traces::Trace;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::borrow::Cow;
use std::io::Write;

/// Minimum number of points per series. If more runs have time series than leave this, the page
/// shows those of fewer runs.
const MIN_POINTS: usize = 128;
/// Compressed bytes per point: the least that was seen, and what to expect of rounded times.
const LEAST_BYTES: usize = 3;
const EXPECTED_BYTES: f64 = 4.5;
/// Size of binary data that is not compressed.
const SMALL: usize = 1 << 20;
/// Header of a zlib stream (RFC 1950 §2.2): deflate, a window of 32 kB, the fastest algorithm.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];
/// Largest block without compression.
const MAX_STORED: usize = u16::MAX as usize;
/// Attempts to fit the series into the page, after one that is only estimated.
const ATTEMPTS: usize = 6;
/// An estimate compresses this much of each whole stretch of the binary data, both in bytes.
const SAMPLE: usize = 16 << 10;
const STRETCH: usize = 128 << 10;
/// Fraction of the golden ratio in 32 bits. Its multiples spread evenly.
const GOLDEN: u32 = 0x9e37_79b9;

/// Time series and constellations in a page.
pub struct Embedded<'a> {
    pub traces: Cow<'a, [Trace]>,
    pub constellations: Cow<'a, [ConstellationView]>,
    /// The binary data that both refer to, as a zlib stream.
    pub compressed: Vec<u8>,
    /// What the page leaves out, for its reader.
    pub note: Option<String>,
}

/// Returns the time series of `recording` so that their compressed data has at most `room` bytes:
/// all of them if possible, or else downsampled ones with times rounded to a microsecond, of fewer
/// runs if there are very many.
pub fn fit(recording: &Recording, room: usize) -> Embedded<'_> {
    let points: usize = recording.traces.iter().map(total).sum();
    let mut bytes_per_point = EXPECTED_BYTES;
    if points * LEAST_BYTES <= room {
        let compressed = deflate(&recording.blob, room);
        if compressed.len() <= room {
            return Embedded {
                traces: Cow::Borrowed(&recording.traces),
                constellations: Cow::Borrowed(&recording.constellations),
                compressed,
                note: None,
            };
        }
    }
    let mut best: Option<Embedded<'_>> = None;
    // Estimates that are worth compressing for. The rest of the room is for their error.
    let promising = room / 3 * 2..room - room / 50;
    for attempt in 0..=ATTEMPTS {
        let selection = reduced(recording, room, bytes_per_point);
        // An estimate costs an eighth of a compression that may be of no use.
        let estimate = if attempt == 0 { selection.estimate() } else { None };
        if let Some(size) = estimate.filter(|size| !promising.contains(size)) {
            bytes_per_point *= 1.1 * size as f64 / room.max(1) as f64;
            continue;
        }
        let embedded = selection.compressed(room);
        let used = embedded.compressed.len();
        bytes_per_point *= 1.1 * used as f64 / room.max(1) as f64;
        if used <= room {
            let first = best.is_none();
            best = best.filter(|best| best.compressed.len() > used).or(Some(embedded));
            // A second attempt fills a room that groups with less than four points left empty.
            if used > room / 3 * 2 || !first {
                break;
            }
        }
    }
    best.unwrap_or_else(|| with_limit(recording, &[], MIN_POINTS).compressed(room))
}

/// Time series that may fit in a page, and their constellations.
struct Selection {
    traces: Vec<Trace>,
    constellations: Vec<ConstellationView>,
    blob: Vec<u8>,
    note: String,
}

impl Selection {
    /// Estimates the compressed size of the binary data from a sample of it. `None` if there is
    /// too little data for one.
    fn estimate(&self) -> Option<usize> {
        if self.blob.len() <= SMALL {
            return None;
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        let mut sampled = 0;
        for (index, stretch) in self.blob.chunks_exact(STRETCH).enumerate() {
            // Series of equal length repeat times and values at equal distances. Samples at equal
            // distances could have only one of them.
            let place = (index as u32).wrapping_mul(GOLDEN) >> 16;
            let from = ((STRETCH - SAMPLE) * place as usize) >> 16;
            let sample = &stretch[from..from + SAMPLE];
            // Writing to memory does not fail.
            encoder.write_all(sample).ok()?;
            // Times and values have codes of their own in the whole, too.
            encoder.flush().ok()?;
            sampled += sample.len();
        }
        let compressed = encoder.finish().ok()?.len();
        Some((self.blob.len() as f64 * compressed as f64 / sampled as f64) as usize)
    }

    /// Compresses the binary data, to at most `room` bytes if possible.
    fn compressed(self, room: usize) -> Embedded<'static> {
        Embedded {
            traces: Cow::Owned(self.traces),
            constellations: Cow::Owned(self.constellations),
            compressed: deflate(&self.blob, room),
            note: Some(self.note),
        }
    }
}

fn total(trace: &Trace) -> usize {
    trace.series().map(|series| series.n).sum()
}

/// Returns the series that probably fit in `room` bytes.
fn reduced(recording: &Recording, room: usize, bytes_per_point: f64) -> Selection {
    let positions: usize = recording.constellations.iter().map(|view| view.positions().len()).sum();
    let budget = (room.saturating_sub(positions) as f64 / bytes_per_point) as usize;
    // First runs first.
    let mut order: Vec<usize> = (0..recording.traces.len()).collect();
    order.sort_by_key(|&index| recording.traces[index].run);
    loop {
        let series = order.iter().flat_map(|&index| recording.traces[index].series());
        let limit = downsample::limit(series.map(|series| series.n), budget);
        if limit >= MIN_POINTS || order.len() <= 1 {
            order.sort_unstable();
            return with_limit(recording, &order, limit);
        }
        order.truncate(order.len() * 3 / 4);
    }
}

/// Returns at most `limit` points of each series of the runs `kept`.
fn with_limit(recording: &Recording, kept: &[usize], limit: usize) -> Selection {
    let mut blob = Vec::new();
    let mut constellations = recording.constellations.clone();
    for view in &mut constellations {
        let positions = view.positions();
        view.satellites.positions.offset = blob.len();
        blob.extend_from_slice(recording.blob.get(positions).unwrap_or_default());
        blob.resize(blob.len().next_multiple_of(8), 0);
    }
    let mut traces: Vec<Trace> =
        kept.iter().map(|&index| recording.traces[index].clone()).collect();
    for series in traces.iter_mut().flat_map(Trace::series_mut) {
        downsample::copy(series, &recording.blob, limit, &mut blob);
    }
    let all = recording.traces.len();
    let runs =
        if kept.len() < all { format!(" of {} of {all} runs", kept.len()) } else { String::new() };
    let note = format!(
        "to keep this page small, it has downsampled time series{runs}; `traces.bin` has more"
    );
    Selection { traces, constellations, blob, note }
}

/// Returns `blob` as a zlib stream, of at most `room` bytes if possible.
fn deflate(blob: &[u8], room: usize) -> Vec<u8> {
    // The digits of times and values hardly repeat: compression saves a third, which is not worth
    // its time in a small page, and higher levels save no more.
    if blob.len() <= SMALL.min(room / 8 * 7) {
        return stored(blob);
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let written = encoder.write_all(blob);
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Returns `blob` as a zlib stream without compression (RFC 1950, RFC 1951 §3.2.4). The encoder
/// would copy it byte by byte.
fn stored(blob: &[u8]) -> Vec<u8> {
    let blocks = blob.len().div_ceil(MAX_STORED).max(1);
    let mut stream = Vec::with_capacity(blob.len() + 5 * blocks + 6);
    stream.extend(ZLIB_HEADER);
    for index in 0..blocks {
        let from = index * MAX_STORED;
        let block = &blob[from..blob.len().min(from + MAX_STORED)];
        let length = block.len() as u16;
        stream.push(u8::from(index + 1 == blocks));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend(simd_adler32::adler32(&blob).to_be_bytes());
    stream
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::points;
    use bentpipe_results::Point;
    use bentpipe_timeseries::{RunSeries, Series, VisitSeries};
    use bentpipe_units::Time;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    /// `runs` runs of a flow with `series` series of `n` points.
    fn recording(runs: usize, series: usize, n: u64) -> Recording {
        const NAMES: [&str; 4] = ["cwnd", "rtt", "sent", "acked"];
        let mut all = Recording::default();
        for run in 0..runs as u64 {
            let point = |i: u64| {
                let time = Time::from_nanos((i * 10_000_000) | (i.wrapping_mul(7_919_777) % 4096));
                (time, (i.wrapping_mul(run + 40_503) % 65_537) as f64)
            };
            let series = NAMES[..series].iter().map(|name| Series {
                name,
                unit: "",
                points: (0..n).map(point).collect(),
                downsampled: false,
            });
            let flow = VisitSeries {
                name: "main".to_owned(),
                visit: 1,
                start: Time::ZERO,
                series: series.collect(),
                marks: Vec::new(),
                phases: Vec::new(),
            };
            let trace = RunSeries { flows: vec![flow], ..RunSeries::default() };
            let trace = Trace::encode("a", &Point::new(), run, &trace, &[], &mut all.blob);
            all.traces.push(trace);
        }
        all
    }

    fn inflate(compressed: &[u8]) -> Vec<u8> {
        let mut blob = Vec::new();
        ZlibDecoder::new(compressed).read_to_end(&mut blob).unwrap();
        blob
    }

    #[test]
    fn a_stored_stream_is_one_that_zlib_reads() {
        for size in [0, 1, MAX_STORED - 1, MAX_STORED, MAX_STORED + 1, 3 * MAX_STORED, SMALL] {
            let blob: Vec<u8> = (0..size).map(|i| (i.wrapping_mul(40_503) >> 7) as u8).collect();
            let stream = deflate(&blob, 2 * SMALL);
            assert!(stream.len() <= size + 5 * (size / MAX_STORED + 1) + 6, "{size}");
            assert!(inflate(&stream) == blob, "{size}");
        }
    }

    #[test]
    fn series_that_fit_are_embedded_as_they_are() {
        let recording = recording(3, 2, 1_000);
        let embedded = fit(&recording, 100_000);
        assert_eq!(inflate(&embedded.compressed), recording.blob);
        assert!(*embedded.traces == recording.traces && embedded.note.is_none());
    }

    #[test]
    fn larger_series_are_downsampled_to_the_room() {
        let recording = recording(3, 2, 50_000);
        for room in [30_000, 100_000, 1_000_000] {
            let embedded = fit(&recording, room);
            let used = embedded.compressed.len();
            assert!(used <= room && used > room / 2, "{used} of {room}");
            assert_eq!(embedded.traces.len(), 3);
            let blob = inflate(&embedded.compressed);
            for (kept, all) in embedded.traces.iter().zip(&recording.traces) {
                for (kept, all) in kept.series().zip(all.series()) {
                    let (kept, all) = (points(kept, &blob), points(all, &recording.blob));
                    let ends = |points: &[(f64, f32)]| [points[0], points[points.len() - 1]];
                    for (kept, all) in ends(&kept).into_iter().zip(ends(&all)) {
                        assert!((kept.0 - all.0).abs() < 1e-6 && kept.1 == all.1);
                    }
                }
            }
            let note = embedded.note.unwrap();
            assert!(note.contains("downsampled time series; `traces.bin`"), "{note}");
        }
    }

    #[test]
    fn a_sample_predicts_the_compressed_size() {
        // The second has series that are as long as the distance between samples.
        for (n, runs) in [(50_000, 3), ((STRETCH / 12) as u64, 20)] {
            let recording = recording(runs, 4, n);
            let order: Vec<usize> = (0..runs).collect();
            let selection = with_limit(&recording, &order, usize::MAX);
            let estimate = selection.estimate().unwrap() as f64;
            let error = estimate / deflate(&selection.blob, usize::MAX).len() as f64 - 1.0;
            // The attempt after an estimate leaves a tenth free.
            assert!(error.abs() < 0.08, "{n} points: {error}");
        }
        let small = with_limit(&recording(1, 1, 1_000), &[0], usize::MAX);
        assert_eq!(small.estimate(), None);
    }

    #[test]
    fn the_first_runs_remain_if_there_are_too_many() {
        let mut recording = recording(400, 4, 300);
        for (index, trace) in recording.traces.iter_mut().enumerate() {
            trace.run = (index % 4) as u64;
        }
        let embedded = fit(&recording, 200_000);
        assert!(embedded.compressed.len() <= 200_000);
        let kept = embedded.traces.len();
        assert!((20..400).contains(&kept), "{kept}");
        assert!(embedded.traces.iter().filter(|trace| trace.run == 0).count() >= kept.min(100));
        assert!(embedded.traces.iter().flat_map(Trace::series).all(|series| series.n > 32));
        assert!(embedded.note.unwrap().contains(&format!("of {kept} of 400 runs")));
    }
}
