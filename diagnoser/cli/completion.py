"""`diagnose completion SHELL`: scripts that let bash, zsh and fish complete commands, options, formats and rule ids.

The scripts hold no list of their own: at each press of the tab key they ask `diagnose completion` what fits, one
answer a line, tab-separated: `word`, the word, and its help; or `file` or `folder` where a path is expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from diagnoser.records import NamedTuple

_BASH = """\
_diagnose() {
  local kind word help
  COMPREPLY=()
  while IFS=$'\\t' read -r kind word help; do
    case $kind in
      word) COMPREPLY+=("$word") ;;
      file) compopt -o default ;;
      folder) compopt -o dirnames ;;
    esac
  done < <(command diagnose completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _diagnose diagnose
"""
_ZSH = """\
#compdef diagnose
_diagnose() {
  local kind word help
  local -a words_found
  while IFS=$'\\t' read -r kind word help; do
    case $kind in
      word) words_found+=("${word//:/\\\\:}:$help") ;;
      file) _files ;;
      folder) _files -/ ;;
    esac
  done < <(command diagnose completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#words_found )) && _describe diagnose words_found
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _diagnose "$@"; else compdef _diagnose diagnose; fi
"""
_FISH = """\
function _diagnose
    set -l words (commandline -opc) (commandline -ct)
    for answer in (command diagnose completion fish -- $words[2..-1] 2>/dev/null)
        set -l part (string split \\t -- $answer)
        switch $part[1]
            case word
                echo $part[2]\\t$part[3]
            case file
                __fish_complete_path (commandline -ct)
            case folder
                __fish_complete_directories (commandline -ct)
        end
    end
end
complete --no-files --command diagnose --arguments "(_diagnose)"
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""The script of each shell."""


class Answer(NamedTuple):
    """One thing that could stand where the cursor is."""

    kind: str
    """`word`, `file` or `folder`."""
    word: str = ""
    help: str = ""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="")
def completion(shell: str, words: Sequence[str]) -> None:
    """Print the completion script of SHELL.

    \b
    bash  eval "$(diagnose completion bash)"      in ~/.bashrc
    zsh   eval "$(diagnose completion zsh)"       in ~/.zshrc, after compinit
    fish  diagnose completion fish > ~/.config/fish/completions/diagnose.fish
    """
    if not words:
        print(SCRIPTS[shell], end="")
    for answer in answers(words):
        print("\t".join(answer))


def answers(words: Sequence[str]) -> Iterator[Answer]:
    """What fits as the last of the words, which may be empty or incomplete; the words come after `diagnose`."""
    from diagnoser.cli.commands import cli
    from diagnoser.cli.log import log

    if not words:
        return
    *before, current = words
    context = click.Context(cli, info_name="diagnose")
    command: click.Command = log
    if before and before[0] in cli.list_commands(context):
        command, before, context = _descend(cli, before, context)
    elif not before:
        yield from _commands(cli, context, current)
    yield from _fitting(command, before, context, current)


def _descend(
    command: click.Command, words: list[str], context: click.Context
) -> tuple[click.Command, list[str], click.Context]:
    """The command that the words name, the words that are left for it, and its context."""
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        if found is None:
            break
        context = click.Context(found, parent=context, info_name=words[0])
        command, words = found, words[1:]
    return command, words, context


def _fitting(command: click.Command, before: list[str], context: click.Context, current: str) -> Iterator[Answer]:
    if "--" in before:
        yield Answer("file")
        return
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    waiting = next((option for option in options if before and before[-1] in option.opts and not option.is_flag), None)
    if waiting is not None:
        yield from _values(waiting, context, current)
    elif current.startswith("-"):
        for option in options:
            names = [name for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]
            for name in names if not option.hidden else ():
                if name.startswith(current):
                    yield Answer("word", name, _one_line(option.help))
    elif isinstance(command, click.Group):
        yield from _commands(command, context, current)
    else:
        for argument in command.params:
            if isinstance(argument, click.Argument):
                yield from _values(argument, context, current)
                return


def _commands(group: click.Group, context: click.Context, current: str) -> Iterator[Answer]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if name.startswith(current) and found is not None and not found.hidden:
            yield Answer("word", name, found.get_short_help_str(100))


def _values(parameter: click.Parameter, context: click.Context, current: str) -> Iterator[Answer]:
    """What a parameter takes, by the word that its help shows in its place."""
    if isinstance(parameter.type, click.Choice):
        for choice in parameter.type.choices:
            if str(choice).startswith(current):
                yield Answer("word", str(choice))
        return
    shown = (parameter.metavar or parameter.make_metavar(context)).strip("[].")
    if "FORMAT" in shown:
        from diagnoser.render import FORMATS

        yield from (Answer("word", name) for name in FORMATS if name.startswith(current))
    elif "RULE" in shown:
        from diagnoser.catalogue import Catalogue

        for rule in Catalogue.load((), packs=True).rules.values():
            if rule.id.startswith(current):
                yield Answer("word", rule.id, _one_line(rule.title))
    elif "DIR" in shown:
        yield Answer("folder")
    elif any(word in shown for word in ("FILE", "LOG", "PATH", "COMMAND", "REPORT")):
        yield Answer("file")


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
