#pragma once

#include <string>

namespace CLI {
class App;
}

namespace acid {

/// The manual page acid(1) in man's language (roff, UTF-8), with every command and option that
/// `app` shows in its help. `version`: "0.1.0"; `date`: of that version, "2026-11-22".
std::string manual(const CLI::App& app, const std::string& version, const std::string& date);

}  // namespace acid
