#include "cli/processes/started_run.hpp"

#include <string_view>

namespace acid {

void StartedRun::start(std::size_t attempts_now) {
  StartedRun again;
  again.times = times + 1;
  again.losses = losses;
  again.attempts_at_first = times == 0 ? attempts_now : attempts_at_first;
  again.attempts = attempts_now;
  *this = again;
}

std::string StartedRun::first_words(const std::string& output) {
  said = output.substr(0, output.rfind('\n') + 1);
  return last_words(said);
}

std::string StartedRun::new_words(const std::string& output) const {
  std::string_view words = output;
  if (words.starts_with(said)) words.remove_prefix(said.size());
  return last_words(words);
}

}  // namespace acid
