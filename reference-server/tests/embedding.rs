//! How another binary carries this server: as a subcommand of its own, with its own name in the usage text.

use clap::{CommandFactory as _, Parser, Subcommand};

#[derive(Parser)]
#[command(name = "harness")]
struct Host {
    #[command(subcommand)]
    command: HostCommand,
}

#[derive(Subcommand)]
enum HostCommand {
    /// The built-in server
    ReferenceServer(reference_server::Cli),
}

#[test]
fn the_usage_text_names_the_host() {
    let Err(error) = Host::try_parse_from(["harness", "reference-server", "serve", "--help"]) else {
        panic!("help is not an error");
    };
    let help = error.to_string();
    assert!(help.contains("Usage: harness reference-server serve"), "{help}");
    Host::command().debug_assert();
}

#[test]
fn the_arguments_arrive() {
    let arguments = ["harness", "reference-server", "serve", "--principal", "carol"];
    let host = Host::try_parse_from(arguments).expect("they are valid");
    let HostCommand::ReferenceServer(cli) = host.command;
    let reference_server::Command::Serve(serve) = cli.command else {
        panic!("another command");
    };
    assert_eq!(serve.principal.as_deref(), Some("carol".as_ref()));
}

#[test]
fn an_operators_commands_are_reached_through_the_host() {
    for arguments in [
        &["inspect", "op-1", "--format", "json"][..],
        &["reconcile", "op-1", "--not-applied", "--reason", "never sent"],
    ] {
        let host = Host::try_parse_from(["harness", "reference-server"].iter().chain(arguments));
        assert!(host.is_ok(), "{arguments:?}");
    }
    let Err(error) = Host::try_parse_from(["harness", "reference-server", "reconcile", "op-1", "--reason", "r"]) else {
        panic!("a decision without a side was accepted");
    };
    assert!(error.to_string().contains("<--applied|--not-applied>"), "{error}");
}
