#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace acid {

/// The words that may come next on a command line, one line each: the word, a tab, its purpose. A
/// line ":files" or ":folders" stands for the files or folders, which the shell knows. `words`:
/// what follows the program's name, up to and with the word under the cursor, which may be empty;
/// an "=" alone joins its neighbours, as bash splits them. `store_folder`: where runs and
/// experiments are looked up, unless --store is among the words. All commands and options come from
/// `app`; a word that is not understood completes to nothing. Never throws for want of a store.
std::string completions(const CLI::App& app, std::vector<std::string> words,
                        const std::string& store_folder);

/// The script by which a shell asks for completions(): "bash", "zsh" or "fish". Throws UsageError
/// for any other shell.
std::string_view completion_script(std::string_view shell);

}  // namespace acid
