#include "cli/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct cli_error cli_errors[] = {
    {CLI_ERROR_UNKNOWN_COMMAND, CLI_USAGE, "unknown command", "Strait has no command of that name.",
     "Run \"strait\" for the list of commands. Names cannot be abbreviated, so that scripts keep "
     "working when commands are added."},
    {CLI_ERROR_UNKNOWN_OPTION, CLI_USAGE, "unknown option",
     "The command does not take that option.",
     "Run the command with --help to see its options. To pass a word that starts with a dash as an "
     "argument, write -- before it."},
    {CLI_ERROR_BAD_VALUE, CLI_USAGE, "value that is missing or cannot be used",
     "An option or argument has no value, or one of the wrong kind or outside its limits.",
     "Sizes are bytes or carry a unit: 64KiB is 65536, 64kB is 64000. Rates are bits per second: "
     "2.5Gbit. Durations are seconds or carry a unit: 250ms, 15m, 30d. The command's --help says "
     "what each option wants."},
    {CLI_ERROR_MISSING_ARGUMENT, CLI_USAGE, "missing argument",
     "The command needs an argument or option that was not given.",
     "Run the command with --help: arguments in brackets may be left out, the others not."},
    {CLI_ERROR_EXTRA_ARGUMENT, CLI_USAGE, "too many arguments",
     "More arguments were given than the command takes.",
     "Put arguments that hold spaces in quotes. Run the command with --help to see what it takes."},
    {CLI_ERROR_MISSING_COMMAND, CLI_USAGE, "missing subcommand",
     "That word is the name of a group of commands, not of one.",
     "Add one of the subcommands that the message lists."},
    {CLI_ERROR_UNKNOWN_TOPIC, CLI_USAGE, "no help on that",
     "Help is there for commands and for error ids.",
     "Try \"strait help\" for the commands. An error id looks like STRAIT-0007 and stands in "
     "brackets at the beginning of an error message."},
    {CLI_ERROR_BAD_LOG_FILTER, CLI_USAGE, "log filter that cannot be read",
     "--log, or the environment variable STRAIT_LOG, holds something that is not a log filter.",
     "A filter is a level (off, error, warn, info, debug, trace), a subsystem with a level "
     "(net=debug), or several of these separated by commas: info,net=debug."},
    {CLI_ERROR_INSECURE, CLI_USAGE, "plain connection that was not asked for",
     "Without TLS anybody on the way can read and change what is sent, and pretend to be anybody. "
     "Strait does that only if it is told so: --insecure for addresses of this machine, "
     "--insecure --insecure for others.",
     "Use tls:// and certificates (\"strait cert\"). Where the network itself is trusted, repeat "
     "--insecure."},
    {CLI_ERROR_FILE, CLI_FAILED, "file that cannot be read or written",
     "The system refused to read or write the file that the message names; its reason stands at "
     "the "
     "end.",
     "Check that the path is right, that you may read or write there, and that the disk is not "
     "full."},
    {CLI_ERROR_EXISTS, CLI_FAILED, "file that is there already",
     "Strait does not overwrite keys, certificates, authorities and tokens.",
     "Choose another folder or name. Where the command has an option --replace, that overwrites."},
    {CLI_ERROR_STDOUT, CLI_FAILED, "standard output cannot be written",
     "The results could not be delivered: the reader of a pipe went away, or the disk is full. "
     "What "
     "was printed before may be incomplete.",
     "Check the disk, or the program that reads from the pipe, and run the command again."},
    {CLI_ERROR_NO_AUTHORITY, CLI_BAD_CONFIGURATION, "no certificate authority in that folder",
     "The folder does not hold an authority: ca.crt, ca.key and its records.",
     "Make one with \"strait cert init DIR\", or name the folder in which you made it."},
    {CLI_ERROR_BAD_CERT, CLI_BAD_CONFIGURATION, "certificate, key or record that cannot be used",
     "A file of the authority or of a member is damaged, is not what its name says, or does not "
     "belong to the others.",
     "\"strait cert show FILE\" tells what a certificate says. Issue a new one with \"strait cert "
     "issue\", or bring the folder of the authority back from a copy."},
    {CLI_ERROR_BAD_IDENTITY, CLI_USAGE, "identity that cannot be used",
     "An identity is ROLE/SITE/NAME. The role is worker, server, relay or operator. Site and name "
     "have 1 to 64 letters, digits, dots, dashes or underscores.",
     "For example: server/eu/s1. For a token the name may be *, in quotes, so that the shell "
     "leaves "
     "it alone: 'worker/eu/*'."},
    {CLI_ERROR_NOT_ON_RECORD, CLI_FAILED, "certificate that is not on record",
     "The authority has no record of such a certificate.",
     "\"strait cert list DIR --all\" shows all of them. A certificate that you have as a file can "
     "be "
     "revoked by that file, recorded or not."},
    {CLI_ERROR_CERT_REFUSED, CLI_REFUSED, "key or certificate that is refused",
     "A private key can be read by others than its owner, or a certificate comes from another "
     "authority, or its key is of a kind that Strait does not use (it uses Ed25519 only).",
     "If the message names permissions, run chmod 600 on the key and ask yourself who may have "
     "read "
     "it. Otherwise use a certificate of this authority."},
    {CLI_ERROR_BAD_TOKEN, CLI_BAD_CONFIGURATION, "token that cannot be read",
     "What was given is not a token. A token begins with strait1. and stands on one line; perhaps "
     "a part of it was lost in copying, or the file is empty.",
     "Copy all of it, or make a new one with \"strait cert token\" where the authority is."},
    {CLI_ERROR_UNREACHABLE, CLI_UNREACHABLE, "nobody answers at that address",
     "No connection could be made to the address, or it ended before an answer came.",
     "Check the address and the port, and that the other side runs. \"strait doctor\" looks at "
     "this machine; a firewall may stand in between. If many connect at once, some are turned "
     "away: try again."},
    {CLI_ERROR_LISTEN, CLI_FAILED, "address that cannot be listened on",
     "The system does not let the program listen there: the port is in use, or the address is not "
     "one of this machine.",
     "Choose another port, or 0 for one that is free. 0.0.0.0 stands for all addresses of this "
     "machine, [::] for those of IPv6 too."},
    {CLI_ERROR_WRONG_AUTHORITY, CLI_BAD_CONFIGURATION, "not the authority that the token names",
     "A token holds the fingerprint of its authority. The other side could not show a certificate "
     "of that authority, or does not hand out certificates at all. The token was not sent to it, "
     "unless the message speaks of its answer.",
     "Check the address: it must be where \"strait cert serve\" runs, with the authority that made "
     "the token. If both are right, somebody is in between: do not go on."},
    {CLI_ERROR_JOIN_REFUSED, CLI_REFUSED, "token that the authority refuses",
     "The token was used before, has expired (after 15 minutes, unless made otherwise), is not "
     "known, or is not for the name that was asked for. The authority does not tell strangers "
     "which; who runs it can see it there.",
     "Ask for a new token. If the token leaves the name open, choose one with --name that is not "
     "taken."},
    {CLI_ERROR_JOIN_LATER, CLI_TRY_AGAIN, "authority that cannot issue now",
     "The authority had trouble of its own, for instance with its disk. The token is still good.",
     "Try again, or ask who runs the authority to look at what it says."},
    {CLI_ERROR_PEER_REFUSED, CLI_REFUSED, "the other side does not want us, or we not it",
     "Somebody answers at that address, but a certificate was not accepted, the identity is not "
     "wanted there, or the versions have nothing in common; the message says which.",
     "Are both clocks right? Does the other side speak TLS, or was it started with --insecure? "
     "Both "
     "need certificates of the same authority that have not expired and were not revoked: \"strait "
     "doctor --cert DIR\" checks them."},
    {CLI_ERROR_SCENARIO, CLI_BAD_CONFIGURATION, "scenario that cannot be read",
     "A line of the script is not a statement that the simulator knows, or names something that is "
     "not there. The message has the file, the line and what was expected.",
     "\"strait help sim\" shows the statements, \"strait sim --faults\" the faults, and \"strait "
     "sim --builtin\" prints a script that works."},
    {CLI_ERROR_SIM_BROKEN, CLI_FAILED, "invariant that did not hold in the simulation",
     "In the simulated world something happened that must never happen, such as an acknowledged "
     "update that was lost or counted twice, or work that was not done in time. This is a bug of "
     "Strait, or a scenario that ends before its work can be done.",
     "Run the same scenario and seed with --transcript: it happens again in exactly the same way. "
     "If the message says that something was not acknowledged, give the scenario more time with "
     "\"run\"; otherwise please report the scenario and the seed."},
    {CLI_ERROR_NO_MEMORY, CLI_FAILED, "out of memory", "The system gave no memory.",
     "Look at \"strait doctor\" and at the limits of the container or of the batch system."},
    {CLI_ERROR_BENCH, CLI_FAILED, "benchmark that did not come to its end",
     "One of the two sides of a benchmark could not be run. The message says which and why.",
     "Look at \"strait doctor\": open files, memory, loopback. If the machine is fine, please "
     "report it."},
    {0},
};

const struct cli_error *cli_error_find(enum cli_error_id id)
{
    for (const struct cli_error *e = cli_errors; e->id != CLI_ERROR_NONE; e++) {
        if (e->id == id) {
            return e;
        }
    }
    return NULL;
}

char *cli_error_name(enum cli_error_id id, char *out)
{
    (void)snprintf(out, CLI_ERROR_NAME_BYTES, "STRAIT-%04u", (unsigned)id % 10000);
    return out;
}

const struct cli_error *cli_error_parse(const char *text)
{
    static const char prefix[] = "STRAIT-";
    size_t size = sizeof(prefix) - 1;

    if (strncasecmp(text, prefix, size) != 0 || strspn(text + size, "0123456789") != 4 ||
        text[size + 4] != '\0') {
        return NULL;
    }
    return cli_error_find((enum cli_error_id)strtol(text + size, NULL, 10));
}
