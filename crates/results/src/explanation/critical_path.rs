//! The objects of a page that decided when it was complete.

use crate::run::Object;

/// Slack for times that were rounded, in seconds.
const ROUNDING: f64 = 1e-6;

/// Returns the critical path of a visit's objects, the first object first: the one that was
/// complete last; before it the one that was complete last when it was requested; and so on.
///
/// An object is requested when what it depends on is complete, or when a connection is free for it.
/// Either is what its start waited for, if any object was complete by then.
pub fn critical_path(objects: &[Object]) -> Vec<&Object> {
    let mut path: Vec<&Object> = Vec::new();
    let mut until = f64::INFINITY;
    // Objects without a byte are complete when they start: each comes once.
    while let Some(object) = latest(objects.iter().filter(|object| {
        object.completion_s.is_some_and(|at| at <= until + ROUNDING)
            && !path.iter().any(|known| std::ptr::eq(*known, *object))
    })) {
        path.push(object);
        until = object.start_s;
    }
    path.reverse();
    path
}

/// Returns the object that was complete last.
fn latest<'a>(objects: impl Iterator<Item = &'a Object>) -> Option<&'a Object> {
    let time = |object: &Object| object.completion_s.unwrap_or_default();
    objects.max_by(|a, b| time(a).total_cmp(&time(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, start_s: f64, completion_s: Option<f64>) -> Object {
        let (kind, origin) = (None, None);
        Object { name: name.to_owned(), bytes: 1000, start_s, completion_s, kind, origin }
    }

    #[test]
    fn each_object_waits_for_the_one_before_it() {
        let objects = [
            object("page", 0.0, Some(1.0)),
            object("style", 1.0, Some(1.8)),
            object("script", 1.0, Some(2.0)),
            object("photo", 2.0, Some(4.0)),
            object("icon", 1.8, Some(2.5)),
        ];
        let names: Vec<&str> = critical_path(&objects).iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["page", "script", "photo"]);
    }

    #[test]
    fn objects_that_are_not_complete_do_not_count() {
        assert!(critical_path(&[object("a", 0.0, None)]).is_empty());
        let objects = [object("a", 0.0, Some(1.0)), object("b", 1.0, None)];
        assert_eq!(critical_path(&objects).len(), 1);
    }

    #[test]
    fn objects_without_duration_end_the_path() {
        let objects = [object("a", 1.0, Some(1.0)), object("b", 1.0, Some(1.0))];
        assert_eq!(critical_path(&objects).len(), 2);
    }
}
