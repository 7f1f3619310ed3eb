//! Invalid populations of users.

use crate::scenarios::{Case, case, flows};

/// Returns a scenario with 20 users and `keys`, from line 7 on.
fn users(keys: &str) -> String {
    flows("users", &format!("count = 20\n{keys}"))
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
pub fn cases() -> Vec<Case> {
    let sized = "download = \"100 kB\"";
    vec![
        case(
            "no users",
            flows("users", &format!("count = 0\n{sized}")),
            6,
            &["`count` of 0", "1 to 20000"],
        ),
        case(
            "too many users of two populations",
            flows("a", &format!("count = 15000\n{sized}"))
                + &format!("[[flow]]\nname = \"b\"\ncount = 15000\n{sized}\n"),
            8,
            &["30000 users", "up to 20000"],
        ),
        case(
            "arrivals of a single flow",
            flows("users", &format!("arrivals = {{ load = 0.5 }}\n{sized}")),
            6,
            &["population of users", "beside `count`"],
        ),
        case(
            "a terminal of all users",
            users(&format!("terminal = 1\n{sized}")),
            7,
            &["`terminal` and `count`", "terminal of its own"],
        ),
        case(
            "a negative load",
            users(&format!("arrivals = {{ load = -0.5 }}\n{sized}")),
            7,
            &["`load` of -0.5", "above 0, up to 10"],
        ),
        case(
            "two kinds of arrivals",
            users(&format!("arrivals = {{ load = 0.5, rate = 2 }}\n{sized}")),
            7,
            &["exclude each other", "at once"],
        ),
        case(
            "a missing file of arrivals",
            users(&format!("arrivals = {{ file = \"none.txt\" }}\n{sized}")),
            4,
            &["none.txt", "flow `users`"],
        ),
        case(
            "a wide lognormal",
            users("download = { lognormal = { median = \"1 MB\", sigma = 9, max = \"2 MB\" } }"),
            7,
            &["`sigma` of 9", "0 to 4"],
        ),
        case(
            "a Pareto without a range",
            users("download = { pareto = { shape = 1, min = \"2 MB\", max = \"1 MB\" } }"),
            7,
            &["`min` of 2 MB exceeds `max` of 1 MB"],
        ),
        case(
            "an empty list of sizes",
            users("download = { list = [] }"),
            7,
            &["0 sizes", "1 to 1000000"],
        ),
        case(
            "two distributions",
            users("download = { list = [\"1 MB\"], file = \"sizes.txt\" }"),
            7,
            &["`list`, `file` exclude each other"],
        ),
        case(
            "users who transfer nothing",
            users("ping = { interval = \"1 s\", duration = \"3 s\" }"),
            4,
            &["`ping` is no workload of a population", "`download`"],
        ),
        case(
            "an offered load of bulk data",
            users("bulk.duration = \"3 s\"\narrivals = { load = 0.5 }"),
            4,
            &["load = 0.5", "`bulk` has none"],
        ),
        case(
            "an offered load of calls",
            users("call.duration = \"3 s\"\narrivals = { load = 0.5 }"),
            4,
            &["load = 0.5", "`call` has none"],
        ),
        case(
            "an unknown mix",
            flows("homes", "count = 2\nmix = \"office\""),
            7,
            &["`office`", "`household`"],
        ),
        case("a mix without a number", flows("homes", "mix = \"ship\""), 6, &["`count`", "phones"]),
        case(
            "a mix with a workload",
            flows("homes", &format!("count = 2\nmix = \"village\"\n{sized}")),
            8,
            &["`download` and `mix` exclude each other", "[defaults]"],
        ),
        case(
            "a mix of too many people",
            flows("homes", "count = 9000\nmix = \"village\""),
            6,
            &["89910 users of the class `request`", "up to 20000"],
        ),
        case(
            "a first visit after some thought",
            users("visits = [{ download = \"1 kB\", think_time = \"3 s\" }]"),
            7,
            &["`think_time`", "`arrivals`"],
        ),
        case(
            "a thought of a week",
            users(
                "visits = [{ download = \"1 kB\" }, \
                 { download = \"1 kB\", think_time = \"168 h\" }]",
            ),
            7,
            &["`think_time` of 168 h", "1 ms to"],
        ),
        case(
            "an implied first visit of every user",
            users(&format!("{sized}\nvisit = \"repeat\"")),
            4,
            &["repeat visits", "`visits`"],
        ),
        case(
            "a share that does not exist",
            users(sized) + "[[variant]]\nname = \"v\"\nflow.other = { preset = \"rfc\" }\n",
            10,
            &["no flow is named `other`", "`users`"],
        ),
        case(
            "a share with an unknown key",
            users(sized) + "[[flow.share]]\nname = \"a\"\npart = 2\n",
            10,
            &["unknown key `part`", "`parts`"],
        ),
        case(
            "shares without users",
            users(sized) + "[[flow.share]]\nname = \"a\"\nparts = 0\n",
            8,
            &["no share has any users", "above 0"],
        ),
        case(
            "a metric of flows",
            users(sized) + "[[expect]]\nmetric = \"completion_s\"\nbelow = 1\n",
            9,
            &["metric of single flows", "`mean_completion_s`"],
        ),
        case(
            "a metric of users without users",
            flows("a", &format!("{sized}\n[[expect]]\nmetric = \"mean_slowdown\"\nbelow = 1\n")),
            8,
            &["metric of populations", "`count`"],
        ),
    ]
}
