#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace acid {

/// What may come next on a command line, one line each: the word, a tab, what it is for. A line
/// ":files" or ":folders" stands for those that the shell knows. `words` is what stands behind the
/// program's name, up to and with the word under the cursor, which may be empty; an "=" alone joins
/// its neighbours, as bash cuts them. `store_folder`: of runs and experiments, unless --store is
/// among the words. All of it comes from `app`; a word that cannot be understood completes to
/// nothing. Never throws for want of a store.
std::string completions(const CLI::App& app, std::vector<std::string> words,
                        const std::string& store_folder);

/// The script that makes a shell ask for completions(): "bash", "zsh" or "fish". Throws UsageError
/// for any other.
std::string_view completion_script(std::string_view shell);

}  // namespace acid
