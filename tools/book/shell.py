"""Commands in shell text: the words of each, and what it is piped into; used by examples."""

import re
import shlex

# What ends a command and begins another.
SEPARATORS = {"|", "||", "&&", ";", "&", "(", ")", "$(", "|&"}
COMMAND = re.compile(r"(?:\S*/)?bentpipe(?::[\w.]+)?")
# A comment behind a command: `# why`, or `(why)` as the help texts have it.
REMARK = re.compile(r"(?:\s+#\s.*|\s+\((?!\$)[^()]*\))$")
ELLIPSIS = {"…", "..."}


class Unreadable(Exception):
    """A text that a shell could not read either."""


def joined(text):
    """Yields the offset of the line and the text of each command line, continuations joined."""
    pending, start = "", 0
    for number, line in enumerate(text.split("\n")):
        start = start if pending else number
        line = pending + (line.strip() if pending else line)
        if line.endswith("\\"):
            pending = line[:-1]
            continue
        pending = ""
        yield start, line


def typed(text):
    """The command lines of a block that shows a terminal: those behind `$ `."""
    for number, line in joined(text):
        if line.startswith("$ "):
            yield number, line[2:]


def simple_commands(line):
    """The words of each simple command of a line, and the separator before it."""
    lexer = shlex.shlex(REMARK.sub("", line), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.wordchars += "…{},%@^+!:[]"
    try:
        words = list(lexer)
    except ValueError as error:
        raise Unreadable(f"`{line.strip()}`: {error}") from None
    found, before = [[]], [None]
    words = iter(words)
    for word in words:
        if word in SEPARATORS:
            found.append([])
            before.append(word)
        elif word and set(word) <= set("<>&"):
            # A redirection and its file.
            next(words, None)
        elif word not in ELLIPSIS:
            found[-1].append(word)
    return list(zip(before, found))


def invocations(line, subcommands):
    """Yields the arguments of each call of bentpipe, and the program of `jq` that reads it."""
    commands = simple_commands(line)
    for at, (_, words) in enumerate(commands):
        places = [i for i, word in enumerate(words) if COMMAND.fullmatch(word)]
        # Behind other words, as after `sudo` or `chrt --rr 1`, only what goes on as a call does.
        places = [
            i for i in places
            if i == 0 or i + 1 < len(words) and (words[i + 1] in subcommands)
        ]
        if not places:
            continue
        program = None
        if at + 1 < len(commands) and commands[at + 1][0] == "|":
            following = commands[at + 1][1]
            if following[:1] == ["jq"]:
                program = next((word for word in following[1:] if word.startswith(".")), None)
        yield words[places[0] + 1:], program
