#pragma once

#include "engine/recorder/recorder.hpp"

namespace acid {

/// A recorder that keeps nothing.
class NullRecorder : public Recorder {
 public:
  void sample(const Position&, std::span<const Value>) override {}
  void progress(const Position&) override {}
  void note(Severity, std::string_view) override {}
  void events(int, std::int64_t, std::span<const Event>) override {}
};

}  // namespace acid
