#pragma once

#include "cli/terminal/session.hpp"

namespace acid {

/// `acid doctor --store`: looks at everything in the store, with `repair` mends what can be mended,
/// and prints what was found. Returns ok when the store is sound in the end, else store.
Exit examine_store(const Session& session, bool repair, const Format& format);

}  // namespace acid
