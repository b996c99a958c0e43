#pragma once

#include <optional>
#include <vector>

#include "tests/cli/stored_run.hpp"

namespace acid::test {

/// A run that seems to be executed by this process, until end().
struct Going : StoredRun {
  Going() : number(store.begin_attempt(id, Lease::of_this_process(), {}, {}, {})) {
    writer.emplace(store.folder(), id, number);
    for (int step = 1; step <= 8; ++step) measure(50 * step, 1.0 / step);
  }
  void measure(int gradients, double loss) {
    const std::vector<Value> values{{"eval_loss", kWholeRun, loss},
                                    {"exchanges", kWholeRun, 3.0 * gradients},
                                    {"idle_share", kWholeRun, 0.125}};
    const Position position{gradients, gradients / 4.0, gradients / 100.0, 0};
    writer->sample(position, values);
    writer->progress(position);
    writer->flush();
  }
  void end(RunState state) {
    writer.reset();
    AttemptResult result;
    result.state = state;
    result.position.gradients = 1000;
    store.end_attempt(number, result);
  }
  std::int64_t number;
  std::optional<RunWriter> writer;
};

}  // namespace acid::test
