//! A comparison as JUnit XML, which CI systems show.

use bentpipe_results::comparison::{Change, ComparisonReport, Finding, Side};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// Formats a comparison as JUnit XML, with a test case for each row. A regression is a failure;
/// cases that were not tested or that one side lacks are skipped.
///
/// # Errors
/// Returns the error of the XML writer, which does not occur in memory.
pub fn junit(report: &ComparisonReport) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(report.after.scenario.as_str());
    for (name, origin) in [("before", &report.before), ("after", &report.after)] {
        suite.add_property((format!("{name}.source").as_str(), origin.source.as_str()));
        suite.add_property((format!("{name}.version").as_str(), origin.version.as_str()));
        suite.add_property((format!("{name}.seed").as_str(), origin.seed.to_string().as_str()));
    }
    let class = format!("bentpipe.{}", report.after.scenario);
    let mut add = |name: String, status: TestCaseStatus, text: Option<String>| {
        let mut case = TestCase::new(name, status);
        case.set_classname(class.as_str());
        if let Some(text) = text {
            case.set_system_out(text);
        }
        suite.add_test_case(case);
    };
    for change in &report.changes {
        let name = format!("{}: {}", change.case, change.metric);
        let (status, text) = match change.finding {
            Finding::Regression => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_type("regression").set_message(sentence(change));
                (status, None)
            }
            Finding::Untested => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(change.note.as_deref().unwrap_or("not tested"));
                (status, None)
            }
            _ => (TestCaseStatus::success(), Some(sentence(change))),
        };
        add(name, status, text);
    }
    for missing in &report.missing {
        let mut status = TestCaseStatus::skipped();
        status.set_message(match missing.missing {
            Side::Before => "only after",
            Side::After => "only before",
        });
        add(missing.case.to_string(), status, None);
    }
    let mut document = Report::new("bentpipe compare");
    document.add_test_suite(suite);
    document.to_string()
}

/// Returns the change in words.
fn sentence(change: &Change) -> String {
    let mut text = format!(
        "{}: {} before, {} after",
        change.finding.name(),
        change.value_text(&change.before),
        change.value_text(&change.after)
    );
    for (name, estimate) in [("mean", change.mean), ("typical run", change.typical)] {
        if let Some(estimate) = estimate {
            text.push_str(&format!("; {name} {estimate}"));
        }
    }
    if !change.p_text().is_empty() {
        text.push_str(&format!("; adjusted p {}", change.p_text()));
    }
    text
}
