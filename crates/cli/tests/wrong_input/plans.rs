//! Invalid scenarios as a whole: syntax, names, variants, sweeps, expectations and output.

use crate::scenarios::{Case, HEAD, WORK, after, case};

#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub fn cases() -> Vec<Case> {
    vec![
        case(
            "fairness of one flow",
            after("[[expect]]\nmetric = \"jain_index\"\nflow = \"main\"\nabove = 0.5\n"),
            12,
            &["`main`", "allowed: `all`"],
        ),
        case(
            "completion of all flows",
            after("[[expect]]\nmetric = \"completion_s\"\nflow = \"all\"\nabove = 0.5\n"),
            11,
            &["metric of all flows together", "`jain_index`"],
        ),
        case("invalid TOML", "name = \"wrong\"\npath = [\n", 2, &["array"]),
        case(
            "an unknown key",
            format!("{HEAD}profile = \"geo-50-10\"\n[workload]\ndownlod = \"1 MB\"\n"),
            5,
            &["unknown key `downlod`", "allowed:", "`download`", "did you mean `download`"],
        ),
        case(
            "an unknown table",
            after("[worklod]\nx = 1\n"),
            10,
            &["unknown key `worklod`", "`workload`"],
        ),
        case(
            "an invalid name",
            "name = \"My Scenario\"\n",
            1,
            &["missing key `path`", "profile ="],
        ),
        case(
            "a name with a slash",
            format!("name = \"../up\"\n[path]\nprofile = \"geo-50-10\"\n{WORK}"),
            1,
            &["`../up`", "allowed: 1 to 64 lower-case letters"],
        ),
        case(
            "zero runs",
            format!("name = \"wrong\"\nrepeat = 0\n[path]\nprofile = \"geo-50-10\"\n{WORK}"),
            2,
            &["`repeat` of 0", "allowed: 1 to 100000"],
        ),
        case(
            "an unknown metric as headline",
            format!(
                "name = \"wrong\"\nheadline = \"goodput_mpbs\"\n[path]\nprofile = \"geo-50-10\"\n\
                 {WORK}"
            ),
            2,
            &["goodput_mpbs", "goodput_mbps"],
        ),
        case(
            "a metric of populations as headline of a scenario without any",
            format!(
                "name = \"wrong\"\nheadline = \"mean_slowdown\"\n[path]\n\
                 profile = \"geo-50-10\"\n{WORK}"
            ),
            2,
            &["`mean_slowdown`", "beside a [[flow]] with `count`"],
        ),
        case(
            "a zero time limit",
            format!(
                "name = \"wrong\"\ntime_limit = \"0 s\"\n[path]\nprofile = \"geo-50-10\"\n{WORK}"
            ),
            2,
            &["`time_limit`", "allowed: above 0 s"],
        ),
        case(
            "a duplicate variant",
            after("[[variant]]\nname = \"a\"\n"),
            11,
            &["a variant named `a` already exists", "allowed: each name once"],
        ),
        case(
            "a sweep of an unknown key",
            after("\"workload.downlod\" = [\"1 MB\"]\n"),
            10,
            &["unknown key `downlod`", "did you mean `download`"],
        ),
        case(
            "a sweep of an unknown variant",
            after("\"variant.b.congestion\" = [\"cubic\"]\n"),
            10,
            &["no variant is named `b`", "allowed: `a`"],
        ),
        case(
            "a sweep of a key that cannot be swept",
            after("\"seed\" = [1, 2]\n"),
            10,
            &["`seed` cannot be swept", "allowed are paths that begin with `path`"],
        ),
        case(
            "an empty sweep",
            after("\"time_limit\" = []\n"),
            10,
            &["`time_limit` must be swept over a list of one or more values"],
        ),
        case(
            "a sweep with a wrong value",
            after("\"path.forward.rate\" = [\"10 Mbps\",\n  \"10 MBps\"]\n"),
            11,
            &["`10 MBps`", "Gbps, Mbps, kbps, bps"],
        ),
        case(
            "an expectation of an unknown variant",
            after("[[expect]]\nmetric = \"completion_s\"\nvariant = \"b\"\nbelow = 1\n"),
            12,
            &["no variant is named `b`", "allowed: `a`"],
        ),
        case(
            "an expectation of an unknown metric",
            after("[[expect]]\nmetric = \"completion\"\nbelow = 1\n"),
            11,
            &["no metric is named `completion`", "allowed: `completion_s`"],
        ),
        case(
            "an expectation of an unknown layer",
            after("[[expect]]\nmetric = \"reverse_bytes.syn\"\nbelow = 1\n"),
            11,
            &["no metric is named `reverse_bytes.syn`", "`reverse_bytes.ip`"],
        ),
        case(
            "an expectation without a condition",
            after("[[expect]]\nmetric = \"completion_s\"\n"),
            10,
            &["nothing is expected", "allowed: `below`, `above` or both"],
        ),
        case(
            "an expectation at an unknown point",
            after(
                "[[expect]]\nmetric = \"completion_s\"\nbelow = 1\n\
                 point = { \"workload.download\" = \"3 MB\" }\n",
            ),
            13,
            &["never `3 MB`", "allowed: `1 MB`, `2 MB`"],
        ),
        case(
            "a published figure at an unknown key",
            after(
                "[[published]]\nlabel = \"x\"\nkind = \"measured\"\nmetric = \"completion_s\"\n\
                 point = { \"path.profile\" = \"x\" }\nvalue = 1\nsource = \"x\"\n",
            ),
            14,
            &["no swept key is named `path.profile`", "allowed: `workload.download`"],
        ),
        case(
            "a capture at an unknown hop",
            after("[output]\ncapture = \"nowhere\"\n"),
            11,
            &["no hop is named `nowhere`", "allowed: `access`"],
        ),
    ]
}
