//! Files that a scenario names by mistake or on purpose: errors do not show what is in them.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_lab::{Changes, Plan};

/// A line as in a file of passwords. No error shows this part of it.
const LINE: &str = "root:$y$j9T$secret:20000:0:99999:7:::\n";
const SECRET: &str = "$y$";

/// Returns the error of a scenario with `keys`, whose file `passwords` has [`LINE`].
fn error(keys: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("passwords"), LINE).unwrap();
    let text = format!("name = \"t\"\n{keys}\n");
    match Plan::parse("t.toml", &text, directory.path(), &Changes::default()) {
        Err(error) => format!("{error:?} {error}"),
        Ok(plan) => format!("{:?}", plan.spec(plan.tasks[0]).expect_err(keys)),
    }
}

#[test]
fn errors_do_not_show_lines_of_other_files() {
    let users = |keys| {
        format!("[path]\nprofile = \"geo-50-10\"\n[[flow]]\nname = \"u\"\ncount = 2\n{keys}")
    };
    let path = |keys| format!("workload.download = \"1 MB\"\n[path]\nrtt = \"600 ms\"\n{keys}");
    for keys in [
        users("download = { file = \"passwords\" }"),
        users("arrivals = { file = \"passwords\" }\ndownload = \"1 MB\""),
        path("forward = { rate = { trace = \"passwords\" } }\nreturn = { rate = \"1 Mbps\" }"),
        path("forward = { recording = \"passwords\" }\nreturn = { rate = \"1 Mbps\" }"),
        path(
            "forward = { rate = \"1 Mbps\", loss = { model = \"trace\", file = \"passwords\" } }\n\
             return = { rate = \"1 Mbps\" }",
        ),
        path("forward = { rate = \"1 Mbps\" }\nreturn = { rate = \"1 Mbps\" }")
            .replace("download = \"1 MB\"", "web_page = { har = \"passwords\" }"),
        "[path.orbit]\nconstellation = { tle = \"passwords\" }\nlinks.all = { rate = \"1 Mbps\" }\n\
         [workload]\nfrom = \"Tokyo\"\nto = \"Osaka\"\ndownload = \"1 MB\""
            .to_owned(),
    ] {
        let error = error(&keys);
        let named = error.contains("passwords") && error.contains("line 1");
        assert!(named && !error.contains(SECRET), "{keys}: {error}");
    }
}
