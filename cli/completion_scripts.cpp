#include <array>
#include <utility>

#include "cli/completion.hpp"
#include "engine/base/error.hpp"

namespace acid {
namespace {

// Each script runs the program itself, by the name by which it was called, and shows its answer.

constexpr std::string_view kBash =
    R"(# What may come next on a command line of acid, for bash. acid itself says it.
_acid() {
  local word help cur=${COMP_WORDS[COMP_CWORD]}
  local -r whole=$cur
  [[ $cur == "=" ]] && cur=
  COMPREPLY=()
  while IFS=$'\t' read -r word help; do
    case $word in
      :files)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "${cur#--*=}") ;;
      :folders)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "${cur#--*=}") ;;
      *)
        # bash has cut "--option=value" at the sign, and wants the value alone.
        [[ $whole == --*=* ]] || word=${word#--*=}
        printf -v word %q "$word"
        COMPREPLY+=("$word") ;;
    esac
  done < <("${COMP_WORDS[0]}" completion -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _acid acid
)";

constexpr std::string_view kZsh = R"(#compdef acid
# What may come next on a command line of acid, for zsh. acid itself says it.
_acid() {
  local line word
  local -a found
  for line in "${(@f)$("${(Q)words[1]}" completion -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    case $word in
      '') ;;
      :files) compset -P '--*='; _files ;;
      :folders) compset -P '--*='; _files -/ ;;
      *) found+=("${word//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( $#found )) && _describe -V acid found
}
if [ "$funcstack[1]" = _acid ]; then _acid "$@"; else compdef _acid acid; fi
)";

constexpr std::string_view kFish =
    R"(# What may come next on a command line of acid, for fish. acid itself says it.
function __acid_completions
  set -l words (commandline -opc)
  set -l token (commandline -ct)
  for line in ($words[1] completion -- $words[2..-1] "$token" 2>/dev/null)
    switch $line
      case ':files*'
        __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$token")
      case ':folders*'
        __fish_complete_directories (string replace -r -- '^--[^=]*=' '' "$token") ''
      case '*'
        echo $line
    end
  end
end
complete -c acid -f -a '(__acid_completions)'
)";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kScripts{
      {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};
  for (const auto& [name, script] : kScripts)
    if (name == shell) return script;
  throw UsageError(fmt::format("unknown shell '{}': bash, zsh or fish", shell));
}

}  // namespace acid
