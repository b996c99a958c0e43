#pragma once

#include "cli/terminal/session.hpp"

namespace acid {

/// `acid doctor --store`: inspects the store, with `repair` mends what can be mended, and prints
/// the findings. Returns ok when the store is sound in the end, else store.
Exit examine_store(const Session& session, bool repair, const Format& format);

}  // namespace acid
