//! Opens the result store of the user.

use crate::args::StoreArgs;
use crate::output::say;
use bentpipe_lab::{LabError, ResultStore};

/// Opens the result store that `args` ask for. Without an explicit directory, a store that cannot
/// be opened is only worth a warning: runs are computed.
pub fn open(args: &StoreArgs) -> Result<Option<ResultStore>, LabError> {
    if args.no_store {
        return Ok(None);
    }
    let Some(directory) = args.store.clone().or_else(ResultStore::default_directory) else {
        return Ok(None);
    };
    match ResultStore::open(&directory) {
        Ok(store) => Ok(Some(store)),
        Err(error) if args.store.is_some() => {
            Err(LabError::Usage { argument: "--store", reason: error.to_string() })
        }
        Err(error) => {
            say!("warning: results are not kept for later: {error}");
            Ok(None)
        }
    }
}
