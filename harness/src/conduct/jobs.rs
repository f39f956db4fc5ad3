//! How many cases are run side by side.

use crate::target::Target;

/// The number that was asked for; else one for each core, and one where the cases of this target are not known to be apart
/// from each other.
pub fn jobs(asked: Option<usize>, target: &Target) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.unwrap_or_else(|| if is_isolated(target) { cores() } else { 1 })
}

/// Whether a case has everything to itself that a server of this target keeps: it is told of a folder, or works in it; and
/// the command that kills it names the launch or the folder, so that it does not mean another case's server.
fn is_isolated(target: &Target) -> bool {
    let launch = &target.launch;
    let cwd_is_own = launch.cwd.as_ref().is_none_or(|cwd| cwd.contains("{data}"));
    let has_own_folder = target.store.is_none() || cwd_is_own || launch.mentions("data");
    let means_one = |words: &Vec<String>| {
        let mut words = words.iter();
        words.any(|word| word.contains("{launch}") || word.contains("{data}"))
    };
    has_own_folder && launch.kill.as_ref().is_none_or(means_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Store, command_only};

    #[test]
    fn cases_that_would_share_a_folder_or_a_name_are_run_one_after_the_other() {
        let server = |command: &str, cwd: Option<&str>, kill: Option<&str>| {
            let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let mut target = command_only(words(command));
            target.store = Some(Store {
                path: "{data}/orders.db".to_owned(),
                seed: None,
            });
            target.launch.cwd = cwd.map(str::to_owned);
            target.launch.kill = kill.map(words);
            target
        };
        let named = "docker run --name {launch} -v {data}:/data orders";
        for (target, isolated) in [
            (server("orders", None, None), true),
            (server("orders --database {data}/orders.db", Some("/opt"), None), true),
            (server("orders", Some("/opt"), None), false),
            (server(named, None, Some("docker kill {launch}")), true),
            (server(named, None, Some("docker kill orders")), false),
        ] {
            assert_eq!(is_isolated(&target), isolated, "{:?}", target.launch);
            assert_eq!(jobs(Some(3), &target), 3, "what was asked for is done");
            assert!(isolated || jobs(None, &target) == 1);
        }
    }
}
