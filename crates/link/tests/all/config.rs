//! Notations of a link's configuration, and the error messages for invalid ones.

use crate::common;

use bentpipe_link::loss::{Bernoulli, GilbertElliott, LongBurst, Periodic, Trace};
use bentpipe_link::{
    AcmConfig, CapacityAllocation, CapacityAllocationPreset, Dama, DelayConfig, DelayStep,
    DirectionConfig, DirectionPatch, Distribution, FadeConfig, FadeEvent, LinkError, LongBursts,
    LossConfig, LossModel, LossPreset, LossProcessConfig, ModcodTable, PolicerConfig, QueueConfig,
    QueueLimit, RateConfig, RateStep, Window,
};
use bentpipe_units::{Bytes, Decibels, Rate, Ratio, Span, SymbolRate};
use common::direction;
use std::path::Path;

/// A carrier with adaptive coding and the given keys, without a fade.
macro_rules! acm {
    ($keys:literal) => {
        concat!(
            "rate = { acm = { symbol_rate = \"1 MBd\", modcods = \"dvb-s2\", fade = [{ at = \"0 \
             s\", attenuation_db = 0 }], ",
            $keys,
            " } }"
        )
    };
}
/// A carrier with adaptive coding over the given fade.
macro_rules! fade {
    ($fade:literal) => {
        concat!(
            "rate = { acm = { symbol_rate = \"1 MBd\", modcods = \"dvb-rcs2\", clear_sky_esn0 = \
             \"10 dB\", fade = ",
            $fade,
            " } }"
        )
    };
}

/// Invalid lines of a direction, with words that the error message must contain: the value and what
/// is allowed.
const WRONG: &[(&str, &[&str])] = &[
    // Rates.
    ("rate = \"0 Mbps\"", &["0 Mbps", "above zero"]),
    ("rate = \"-5 Mbps\"", &["-5 Mbps", "0 to 9000 Tbps"]),
    ("rate = \"50 ms\"", &["50 ms", "Gbps, Mbps, kbps, bps"]),
    ("rate = \"fast\"", &["fast", "50 Mbps"]),
    ("rate = 50", &["50", "a rate such as \"50 Mbps\""]),
    ("rate = [\"50 Mbps\"]", &["sequence", "a rate such as \"50 Mbps\""]),
    (
        "rate = {}",
        &["neither `schedule`, `acm`, `demand`, `trace` nor `recording`", "{ trace = \"file\" }"],
    ),
    ("rate = { schedule = [] }", &["schedule = []", "at least one step"]),
    ("rate = { schedule = [{ at = \"1 s\", rate = \"1 Mbps\" }] }", &["at = 1 s", "\"0 s\""]),
    (
        "rate = { schedule = [{ at = \"0 s\", rate = \"1 Mbps\" }, { at = \"2 s\", rate = \"2 \
         Mbps\" }, { at = \"2 s\", rate = \"3 Mbps\" }] }",
        &["at = 2 s", "above 2 s"],
    ),
    (
        "rate = { schedule = [{ at = \"0 s\", rate = \"0 bps\" }] }",
        &["rate = 0 bps", "at least one step above zero"],
    ),
    (
        "rate = { schedule = [{ at = \"0 s\", rate = \"1 Mbps\" }, { at = \"2 s\", rate = \"2 \
         Mbps\" }], repeat = \"2 s\" }",
        &["repeat = 2 s", "above 2 s"],
    ),
    (
        "rate = { schedule = [{ at = \"0 s\", rate = \"1 Mbps\", delay = \"1 s\" }] }",
        &["`delay`", "`at` or `rate`"],
    ),
    ("rate = { schedule = [{ at = \"0 s\" }] }", &["missing field `rate`"]),
    (
        "rate = { tracefile = \"x\" }",
        &["tracefile", "`schedule`, `repeat`, `acm`, `demand`, `trace`"],
    ),
    ("rate = { trace = \"x\", repeat = \"1 s\" }", &["repeat = 1 s", "no `repeat`"]),
    ("rate = { trace = \"x\", schedule = [] }", &["trace = x", "one of the two"]),
    // Delays.
    ("delay = \"300\"", &["300", "no unit", "h, min, s, ms, us, ns"]),
    ("delay = \"-1 ms\"", &["-1 ms", "0 to 146 years"]),
    ("delay = 0.3", &["0.3", "a delay such as \"300 ms\""]),
    ("delay = { base = \"5 ms\", jitter = \"6 ms\" }", &["jitter = 6 ms", "0 s to 5 ms"]),
    ("delay = { base = \"5 ms\", distribution = \"pareto\" }", &["pareto", "`uniform`, `normal`"]),
    (
        "delay = { jitter = \"6 ms\" }",
        &["neither `base`, `schedule` nor `recording`", "base = \"300 ms\""],
    ),
    (
        "delay = { base = \"5 ms\", repeat = \"1 s\" }",
        &["base = 5 ms", "keys of a schedule", "`distribution`"],
    ),
    (
        "delay = { schedule = [], jitter = \"1 s\" }",
        &["schedule", "each step has its own", "`interpolate`"],
    ),
    (
        "delay = { schedule = [{ at = \"0 s\", delay = \"1 ms\", jitter = \"2 ms\" }] }",
        &["jitter = 2 ms", "0 s to 1 ms"],
    ),
    ("delay = { schedule = [] }", &["schedule = []", "at least one step"]),
    (
        "delay = { schedule = [{ at = \"0 s\", delay = \"1 ms\" }], repeat = \"0 s\" }",
        &["repeat = 0 ns", "above 0 ns"],
    ),
    ("delay = { base = \"5 ms\", keeporder = true }", &["keeporder", "`keep_order`"]),
    // Losses.
    ("loss = 1.5", &["1.5", "0 to 1"]),
    ("loss = -0.1", &["-0.1", "0 to 1"]),
    ("loss = nan", &["NaN", "0 to 1"]),
    ("loss = \"101 %\"", &["101 %", "0 to 1"]),
    ("loss = \"wlan\"", &["wlan", "wired, wifi, wired-long, wifi-long"]),
    ("loss = true", &["true", "a ratio such as 0.01"]),
    ("loss = { ratio = 0.1 }", &["missing field `model`"]),
    (
        "loss = { model = \"gilbert\", p = 0.1 }",
        &["gilbert", "bernoulli", "gilbert-elliott", "long-burst", "periodic", "trace", "wired"],
    ),
    ("loss = { model = 3 }", &["3", "bernoulli", "gilbert-elliott"]),
    ("loss = { model = \"bernoulli\" }", &["bernoulli", "has no `ratio`"]),
    ("loss = { model = \"bernoulli\", ratio = 2 }", &["2", "0 to 1"]),
    (
        "loss = { model = \"bernoulli\", ratio = 0.1, p = 0.2 }",
        &["p = 0.2", "not a key of model bernoulli", "ratio"],
    ),
    ("loss = { model = \"bernoulli\", rate = 0.1 }", &["`rate`", "`ratio`"]),
    ("loss = { model = \"gilbert-elliott\" }", &["gilbert-elliott", "p, r", "loss, mean_burst"]),
    (
        "loss = { model = \"gilbert-elliott\", p = 0.1 }",
        &["has no `r`", "p, r, optional loss_good, loss_bad"],
    ),
    ("loss = { model = \"gilbert-elliott\", p = 0.1, r = 0 }", &["r = 0", "above 0"]),
    ("loss = { model = \"gilbert-elliott\", p = 0.1, r = 0.2, loss_bad = 3 }", &["3", "0 to 1"]),
    (
        "loss = { model = \"gilbert-elliott\", p = 0.1, r = 0.2, loss = 0.1 }",
        &["loss = 0.1", "p, r"],
    ),
    (
        "loss = { model = \"gilbert-elliott\", loss = 0.1 }",
        &["has no `mean_burst`", "loss, mean_burst"],
    ),
    (
        "loss = { model = \"gilbert-elliott\", loss = 0.1, mean_burst = 0.5 }",
        &["mean_burst = 0.5", "1 packet or more"],
    ),
    (
        "loss = { model = \"gilbert-elliott\", loss = 0.1, mean_burst = inf }",
        &["mean_burst = inf", "1 packet or more"],
    ),
    (
        "loss = { model = \"gilbert-elliott\", loss = 0.8, mean_burst = 3 }",
        &["loss = 0.8", "0 to 0.75"],
    ),
    (
        "loss = { model = \"gilbert-elliott\", loss = 1, mean_burst = 3 }",
        &["loss = 1", "0 to 0.75"],
    ),
    (
        "loss = { model = \"long-burst\", loss = 0.1, mean_burst = 2, long_share = 1, long_burst = \
         10 }",
        &["long_share = 1", "0 to below 1"],
    ),
    (
        "loss = { model = \"long-burst\", loss = 0.1, mean_burst = 2, long_share = 0.1, long_burst \
         = 1 }",
        &["long_burst = 1", "2 or more"],
    ),
    (
        "loss = { model = \"long-burst\", loss = 0.1, mean_burst = 2, long_share = 0.2, long_burst \
         = 11 }",
        &["long_share = 0.2", "0 to 0.1"],
    ),
    ("loss = { model = \"periodic\", every = 0 }", &["every = 0", "1 or more"]),
    ("loss = { model = \"periodic\", every = -1 }", &["-1", "u64"]),
    ("loss = { model = \"periodic\", every = 5, offset = 5 }", &["offset = 5", "0 to 4"]),
    ("loss = { model = \"fixed-count\", lost = 1, of = 0 }", &["of = 0", "1 or more"]),
    ("loss = { model = \"fixed-count\", lost = 6, of = 5 }", &["lost = 6", "0 to 5"]),
    ("loss = { model = \"trace\" }", &["has no `file`"]),
    ("loss = { model = \"wifi\", loss = 0.1 }", &["loss = 0.1", "wifi", "active"]),
    (
        "loss = { model = \"wifi\", active = [{ from = \"2 s\", to = \"2 s\" }] }",
        &["to = 2 s", "above 2 s"],
    ),
    (
        "loss = { model = \"wifi\", active = [{ from = \"2 s\", to = \"4 s\" }, { from = \"3 s\", \
         to = \"5 s\" }] }",
        &["from = 3 s", "4 s or later"],
    ),
    (
        "loss = { model = \"wifi\", active = [{ from = \"2 s\", to = \"4 s\" }], repeat = \"3 s\" \
         }",
        &["repeat = 3 s", "4 s or more"],
    ),
    ("loss = { model = \"wifi\", repeat = \"3 s\" }", &["repeat = 3 s", "active"]),
    ("loss = [0.1, 2]", &["2", "0 to 1"]),
    ("loss = [0.1, \"wlan\"]", &["wlan", "wired"]),
    // Policers.
    ("policer = { rate = \"0 bps\", burst = \"256 kB\" }", &["rate = 0 bps", "above zero"]),
    (
        "policer = { rate = \"20 Mbps\", burst = \"1499 B\" }",
        &["burst = 1.499 kB", "1500 B or more"],
    ),
    ("policer = { rate = \"20 Mbps\", burst = \"20 ms\" }", &["20 ms", "kB"]),
    ("policer = { rate = \"20 Mbps\" }", &["missing field `burst`"]),
    ("policer = { rate = \"20 Mbps\", size = \"256 kB\" }", &["size", "`rate` or `burst`"]),
    ("policer = \"20 Mbps\"", &["20 Mbps", "burst = \"256 kB\"", "\"none\""]),
    ("policer = 20", &["20", "burst = \"256 kB\""]),
    // Flow meters.
    (
        "flow_meter = { rate = \"0 bps\", burst = \"10 MB\", queue = \"700 packets\" }",
        &["rate = 0 bps", "above zero"],
    ),
    (
        "flow_meter = { rate = \"1 Gbps\", burst = \"1 kB\", queue = \"700 packets\" }",
        &["burst = 1 kB", "1500 B or more"],
    ),
    (
        "flow_meter = { rate = \"1 Gbps\", burst = \"1 MB\", queue = \"1 kB\", expires = \"0 s\" }",
        &["expires = 0 ns", "above 0 s, to 1 h"],
    ),
    ("flow_meter = { rate = \"1 Gbps\", burst = \"10 MB\" }", &["missing field `queue`"]),
    ("flow_meter = \"1 Gbps\"", &["1 Gbps", "burst = \"10 MB\"", "\"none\""]),
    // Allocation.
    ("capacity_allocation = \"dma\"", &["dma", "none, dama, dama-free, cra"]),
    ("capacity_allocation = 3", &["3", "\"dama\""]),
    ("capacity_allocation = {}", &["allocates no capacity", "`cra`, `rbdc` or `vbdc` above zero"]),
    ("capacity_allocation = { preset = \"geo\" }", &["geo", "dama-free"]),
    ("capacity_allocation = { cra = \"1 Mbps\", frame = \"0 s\" }", &["frame = 0 s", "above 0 s"]),
    (
        "capacity_allocation = { cra = \"1 Mbps\", frame = \"1 us\" }",
        &["frame = 1 us", "100 us or more"],
    ),
    (
        "capacity_allocation = { rbdc = \"1 Mbps\", request_interval = \"0 s\" }",
        &["request_interval = 0 ns", "above 0 s"],
    ),
    (
        "capacity_allocation = { rbdc = \"1 Mbps\", tbtp_delay = \"2 h\" }",
        &["tbtp_delay = 2 h", "0 s to 1 h"],
    ),
    ("capacity_allocation = { rbdc = \"1 MB\" }", &["1 MB", "Mbps"]),
    ("capacity_allocation = { crb = \"1 Mbps\" }", &["crb", "`cra`"]),
    // Adaptive coding.
    ("rate = { acm = {} }", &["symbol_rate"]),
    (
        acm!("clear_sky_esn0 = \"-2 dB\""),
        &["clear_sky_esn0 = -2 dB", "QPSK 1/4", "-1.85 dB or more"],
    ),
    (acm!("clear_sky_esn0 = \"10 dBm\""), &["10 dBm", "dB"]),
    (acm!("clear_sky_esn0 = \"10 dB\", margin = \"-1 dB\""), &["margin = -1 dB", "0 dB or more"]),
    (acm!("clear_sky_esn0 = \"10 dB\", framing = 0"), &["framing = 0", "up to 1"]),
    (
        "rate = { acm = { symbol_rate = \"0 Bd\", modcods = \"dvb-s2\", clear_sky_esn0 = \"10 \
         dB\", fade = [{ at = \"0 s\", attenuation_db = 0 }] } }",
        &["symbol_rate = 0 Bd", "above 0 Bd"],
    ),
    (
        "rate = { acm = { symbol_rate = \"1 MBd\", modcods = \"dvb-t\", clear_sky_esn0 = \"10 \
         dB\", fade = [{ at = \"0 s\", attenuation_db = 0 }] } }",
        &["dvb-t", "`dvb-s2` or `dvb-rcs2`"],
    ),
    (fade!("[]"), &["contains no fade", "at least one"]),
    (fade!("[{ at = \"1 s\", attenuation_db = 0 }]"), &["at = 1 s", "first step"]),
    (fade!("[{ at = \"0 s\", attenuation_db = -3 }]"), &["attenuation_db = -3", "0 to 300"]),
    (
        fade!("{ at = \"1 s\", slope = \"0 dB/s\", depth = \"3 dB\", hold = \"1 s\" }"),
        &["slope = 0 dB/s", "above 0"],
    ),
    (
        fade!("{ at = \"1 s\", slope = \"1 dB/s\", depth = \"-3 dB\", hold = \"1 s\" }"),
        &["depth = -3 dB", "above 0"],
    ),
    (fade!("\"rain\""), &["rain", "slope = \"0.5 dB/s\"", "{ recording = \"file\" }"]),
    (
        fade!("{ at = \"1 s\", slope = \"1 dB/s\", hold = \"1 s\" }"),
        &["missing field `depth`", "hold = \"30 s\""],
    ),
    (fade!("{}"), &["missing field `at`", "{ recording = \"file\" }"]),
    (
        fade!("{ recording = \"rain.csv\", depth = \"3 dB\" }"),
        &["recording = rain.csv", "keys of an event", "`recording` alone"],
    ),
    (fade!("{ file = \"rain.csv\" }"), &["file", "`hold`, `recording`"]),
    // Frames and the rest.
    ("frame = 26.5", &["26.5", "600 ms"]),
    (
        "latency = \"1 ms\"",
        &["latency", "`queue`, `policer`, `flow_meter`, `frame`, `capacity_allocation`"],
    ),
];

#[test]
fn invalid_lines_are_rejected_with_line_value_and_allowed_values() {
    common::check_refused(WRONG);
}

#[test]
fn configurations_built_in_code_are_checked_when_loaded() {
    let good = DirectionConfig::new(Rate::from_mbps(1), Span::ZERO);
    assert!(good.load(Path::new(".")).is_ok());
    let config = DirectionConfig { rate: RateConfig::Constant(Rate::ZERO), ..good.clone() };
    assert!(matches!(config.load(Path::new(".")), Err(LinkError::Config(_))));
    let loss = GilbertElliott::Bursts { loss: Ratio::ONE, mean_burst: 2.0 }.into();
    assert!(matches!(
        DirectionConfig { loss, ..good.clone() }.load(Path::new(".")),
        Err(LinkError::Config(_))
    ));

    let rate = RateConfig::Trace { file: "no such file".into() };
    let error = DirectionConfig { rate, ..good.clone() }.load(Path::new("some/where")).unwrap_err();
    assert!(error.to_string().contains("some/where/no such file"), "{error}");
    let rate = RateConfig::Trace { file: "tests/data/loss.trace".into() };
    let error = DirectionConfig { rate, ..good }
        .load(Path::new(env!("CARGO_MANIFEST_DIR")))
        .unwrap_err()
        .to_string();
    assert!(error.contains("loss.trace, line 1") && error.contains("milliseconds"), "{error}");
}

fn process(model: impl Into<LossModel>) -> LossProcessConfig {
    model.into().into()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn every_notation_is_read_and_written_again() {
    let ratio = |value| Ratio::new(value).unwrap();
    let (s, ms, mbps) = (Span::from_secs, Span::from_millis, Rate::from_mbps);
    let read = |text: &str| -> DirectionPatch {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
    };
    let patch = DirectionPatch::default;
    let dama = || CapacityAllocationPreset::find("dama").unwrap().dama;
    let db = |db| Decibels::new(db).unwrap();
    let allocated =
        |dama| DirectionPatch { allocation: Some(CapacityAllocation::Dama(dama)), ..patch() };
    let rate = |rate| DirectionPatch { rate: Some(rate), ..patch() };
    let delay = |delay| DirectionPatch { delay: Some(delay), ..patch() };
    let loss = |processes| DirectionPatch { loss: Some(LossConfig { processes }), ..patch() };
    let bucket = |mbps, bytes| PolicerConfig::TokenBucket {
        rate: Rate::from_mbps(mbps),
        burst: Bytes::new(bytes),
    };
    let wifi = LossModel::Preset(LossPreset::find("wifi").unwrap());
    for (text, wanted) in [
        ("", patch()),
        ("rate = \"50 Mbps\"", rate(RateConfig::Constant(mbps(50)))),
        (
            "rate = { schedule = [{ at = \"0 s\", rate = \"50 Mbps\" }, { at = \"5 s\", rate = \"0 \
             bps\" }], repeat = \"30 s\" }",
            rate(RateConfig::Schedule {
                schedule: vec![
                    RateStep { at: s(0), rate: mbps(50) },
                    RateStep { at: s(5), rate: Rate::ZERO },
                ],
                repeat: Some(s(30)),
            }),
        ),
        ("rate = { trace = \"a/b.trace\" }", rate(RateConfig::Trace { file: "a/b.trace".into() })),
        ("delay = \"300 ms\"", delay(DelayConfig::Constant(ms(300)))),
        (
            "delay = { base = \"300 ms\", jitter = \"5 ms\", distribution = \"normal\", keep_order \
             = false }",
            delay(DelayConfig::Jitter {
                base: ms(300),
                jitter: ms(5),
                distribution: Distribution::Normal,
                keep_order: false,
            }),
        ),
        (
            "delay = { base = \"300 ms\", jitter = \"5 ms\" }",
            delay(DelayConfig::Jitter {
                base: ms(300),
                jitter: ms(5),
                distribution: Distribution::Uniform,
                keep_order: true,
            }),
        ),
        (
            "delay = { schedule = [{ at = \"0 s\", delay = \"20 ms\" }], interpolate = true, \
             repeat = \"15 s\" }",
            delay(DelayConfig::Schedule {
                schedule: vec![DelayStep::new(s(0), ms(20))],
                interpolate: true,
                repeat: Some(s(15)),
                distribution: Distribution::Uniform,
                keep_order: true,
            }),
        ),
        (
            "delay = { schedule = [{ at = \"0 s\", delay = \"20 ms\", jitter = \"30 ms\" }], \
             distribution = \"wifi\" }",
            delay(DelayConfig::Schedule {
                schedule: vec![DelayStep { jitter: ms(30), ..DelayStep::new(s(0), ms(20)) }],
                interpolate: false,
                repeat: None,
                distribution: Distribution::Wifi,
                keep_order: true,
            }),
        ),
        ("loss = 0", loss(vec![])),
        ("loss = 0.01", loss(vec![process(Bernoulli { ratio: ratio(0.01) })])),
        ("loss = \"1 %\"", loss(vec![process(Bernoulli { ratio: ratio(0.01) })])),
        ("loss = \"wifi\"", loss(vec![process(wifi.clone())])),
        (
            "loss = { model = \"bernoulli\", ratio = \"1 %\" }",
            loss(vec![process(Bernoulli { ratio: ratio(0.01) })]),
        ),
        (
            "loss = { model = \"gilbert-elliott\", p = 0.1, r = 0.5 }",
            loss(vec![process(GilbertElliott::Transitions {
                p: ratio(0.1),
                r: ratio(0.5),
                loss_good: Ratio::ZERO,
                loss_bad: Ratio::ONE,
            })]),
        ),
        (
            "loss = { model = \"gilbert-elliott\", loss = 0.01, mean_burst = 4 }",
            loss(vec![process(GilbertElliott::Bursts { loss: ratio(0.01), mean_burst: 4.0 })]),
        ),
        (
            "loss = { model = \"long-burst\", loss = 0.01, mean_burst = 2, long_share = 0.01, \
             long_burst = 30 }",
            loss(vec![process(LongBurst {
                loss: ratio(0.01),
                mean_burst: 2.0,
                long: LongBursts { share: 0.01, mean: 30.0 },
            })]),
        ),
        (
            "loss = { model = \"periodic\", every = 100 }",
            loss(vec![process(Periodic { every: 100, offset: 99 })]),
        ),
        (
            "loss = { model = \"trace\", file = \"l\" }",
            loss(vec![process(Trace { file: "l".into() })]),
        ),
        (
            "loss = [\"wifi\", { model = \"wifi\", active = [{ from = \"1 s\", to = \"2 s\" }], \
             repeat = \"15 s\" }, 0]",
            loss(vec![
                process(wifi.clone()),
                LossProcessConfig {
                    model: wifi,
                    windows: vec![Window { from: s(1), to: s(2) }],
                    repeat: Some(s(15)),
                },
                process(Bernoulli { ratio: Ratio::ZERO }),
            ]),
        ),
        ("loss = []", loss(vec![])),
        ("policer = \"none\"", DirectionPatch { policer: Some(PolicerConfig::None), ..patch() }),
        (
            "policer = { rate = \"20 Mbps\", burst = \"256 kB\" }",
            DirectionPatch { policer: Some(bucket(20, 256_000)), ..patch() },
        ),
        (
            "frame = \"26.5 ms\"",
            DirectionPatch { frame: Some(Span::from_micros(26_500)), ..patch() },
        ),
        (
            "capacity_allocation = \"none\"",
            DirectionPatch { allocation: Some(CapacityAllocation::None), ..patch() },
        ),
        ("capacity_allocation = \"dama\"", allocated(dama())),
        (
            "capacity_allocation = \
                { preset = \"dama\", cra = \"0 bps\", vbdc = \"20 kB\", fca = true }",
            allocated(Dama { cra: Rate::ZERO, vbdc: Bytes::new(20_000), fca: true, ..dama() }),
        ),
        (
            "capacity_allocation = \
                { cra = \"1 Mbps\", frame = \"10 ms\", request_interval = \"95 ms\", \
                request_delay = \"20 ms\", tbtp_delay = \"21 ms\" }",
            // Processing takes a frame and a request 51 ms, so 6 frames; rates end one frame after
            // the tenth.
            allocated(Dama {
                frame: ms(10),
                cra: Rate::from_mbps(1),
                rbdc: Rate::ZERO,
                request_interval: ms(95),
                request_delay: ms(20),
                processing: ms(10),
                tbtp_delay: ms(21),
                timeout: ms(110),
                msl: ms(60),
                ..dama()
            }),
        ),
        (
            fade!("{ at = \"1 s\", slope = \"1 dB/s\", depth = \"3 dB\", hold = \"1 s\" }"),
            rate(RateConfig::Acm(Box::new(AcmConfig {
                symbol_rate: SymbolRate::from_baud(1_000_000),
                modcods: ModcodTable::DvbRcs2,
                clear_sky: db(10.0),
                margin: db(0.5),
                loop_delay: ms(1500),
                framing: ratio(0.97),
                fade: FadeConfig::Event(FadeEvent {
                    at: s(1),
                    slope: "1 dB/s".parse().unwrap(),
                    depth: db(3.0),
                    hold: s(1),
                }),
                loss: Ratio::ONE,
            }))),
        ),
    ] {
        assert_eq!(read(text), wanted, "{text}");
        let multi_format = toml::to_string(&wanted).unwrap();
        assert_eq!(read(&multi_format), wanted, "{text}\nwritten as\n{multi_format}");
        let json = serde_json::to_string(&wanted).unwrap();
        assert_eq!(serde_json::from_str::<DirectionPatch>(&json).unwrap(), wanted, "{json}");
    }
}

#[test]
fn a_patch_overrides_field_by_field() {
    let mut config = direction("rate = \"50 Mbps\"\ndelay = \"325 ms\"\nframe = \"26.5 ms\"");
    assert_eq!(config.queue, QueueConfig::drop_tail(QueueLimit::Bdp(1.0)));
    let before = config.clone();
    DirectionPatch::default().apply_to(&mut config);
    assert_eq!(config, before);
    let patch: DirectionPatch = toml::from_str("loss = \"wired\"\nframe = \"0 s\"").unwrap();
    patch.apply_to(&mut config);
    assert_eq!(
        config.loss,
        LossConfig { processes: vec![LossPreset::find("wired").unwrap().into()] }
    );
    assert_eq!(config.frame, None);
    assert_eq!((&config.rate, &config.delay), (&before.rate, &before.delay));
    let patched = |config: &mut DirectionConfig, text: &str| {
        toml::from_str::<DirectionPatch>(text).unwrap().apply_to(config);
        config.policer
    };
    let policer = patched(&mut config, "policer = { rate = \"20 Mbps\", burst = \"256 kB\" }");
    assert_eq!(
        policer,
        PolicerConfig::TokenBucket { rate: Rate::from_mbps(20), burst: Bytes::new(256_000) }
    );
    assert_eq!(patched(&mut config, "loss = 0"), policer);
    assert_eq!(patched(&mut config, "policer = \"none\""), PolicerConfig::None);
}

#[test]
fn the_schema_lists_all_notations() {
    let schema = serde_json::to_string(&schemars::schema_for!(DirectionPatch)).unwrap();
    for word in [
        "keep_order",
        "mean_burst",
        "wifi-long",
        "gilbert-elliott",
        "codel",
        "interpolate",
        "25 packets",
        "trace",
    ] {
        assert!(schema.contains(word), "{word} is missing from {schema}");
    }
}

#[test]
fn an_allocation_needs_its_own_frames_and_a_known_capacity() {
    for (text, words) in [
        ("rate = \"1 Mbps\"\nframe = \"20 ms\"", ["frame = 20 ms", "its own frames", "0 s"]),
        (
            "rate = { trace = \"tests/data/delivery.trace\" }",
            ["a rate trace", "cannot be allocated", "acm"],
        ),
        ("rate = \"2000 Gbps\"", ["frame = 26.5 ms", "2000 Gbps", "4.29 GB"]),
    ] {
        let config = direction(&format!("{text}\ndelay = \"0 s\"\ncapacity_allocation = \"dama\""));
        let error = config.load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{error} without {word}");
        }
    }
}
