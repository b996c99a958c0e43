#include "exports/tensorboard.hpp"

#include <fstream>
#include <limits>

#include "tests/catch.hpp"
#include "tests/shell.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

constexpr double kEventNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEventInfinity = std::numeric_limits<double>::infinity();

std::string event_file_of(const Store& store, const std::string& run) {
  std::string bytes;
  write_event_file(store, run_detail(store, run), [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

TEST_CASE("CRC-32C has the published values") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xE3069283);              // the algorithm's check value
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);    // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43);  // the same
}

TEST_CASE("a reader that knows nothing of acid finds in an event file what was recorded") {
  const ScratchFolder folder;
  RunRecord run = make_run(3);
  run.settings["optimizer"] = {{"learning_rate", 0.1}, {"nesterov", true}};
  run.label = "A²CiD²";
  Store store = make_store(folder.store(), {run});
  const std::int64_t attempt = begin(store, run.id);
  RunWriter writer(store.folder(), run.id, attempt);
  const auto sample = [&](std::int64_t gradients, std::vector<Value> values) {
    writer.sample({gradients, 0, static_cast<double>(gradients) / 2, 0}, values);
  };
  sample(0, {{"train_loss", kWholeRun, 2.5}, {"worker_accuracy", 0, 0.25}});
  sample(4, {{"train_loss", kWholeRun, kEventNaN}, {"worker_accuracy", 3, 1e-9}});
  sample(8, {{"train_loss", kWholeRun, -kEventInfinity}});
  sample(5'000'000'000, {{"train_loss", kWholeRun, 1e300}});  // more than 24 bits can say
  writer.flush();
  store.end_attempt(attempt, ended_as(RunState::finished));

  const std::string bytes = event_file_of(store, run.id);
  CHECK(bytes == event_file_of(store, run.id));
  const std::string path = folder.path() + "/" + kEventFileName;
  std::ofstream(path, std::ios::binary) << bytes;
  const double began = unix_seconds(run_detail(store, run.id).attempts.front().started);
  const auto at = [&](double seconds) { return fmt::format("{:.3f}", began + seconds); };
  const ShellEnd ended =
      run_shell(PYTHON " -B " SOURCE_ROOT "/tests/exports/event_files.py " + path);
  CHECK(ended.code == 0);
  CHECK(ended.output ==
        "version brain.Event:2 at " + at(0) + "\n_hparams_/session_start_info " +
            run.group.substr(0, 8) +
            " algorithm.kind=ad-psgd optimizer.learning_rate=0.1 optimizer.nesterov=True seed=3.0\n"
            "text settings: Run " +
            run.id + " of acid, A²CiD² (ad-psgd), seed 3.\n0 " + at(0) + " train_loss 2.5\n0 " +
            at(0) + " worker_accuracy/worker_0 0.25\n4 " + at(2) + " train_loss nan\n4 " + at(2) +
            " worker_accuracy/worker_3 9.99999972e-10\n8 " + at(4) +
            " train_loss -inf\n5000000000 " + at(2.5e9) +
            " train_loss inf\n_hparams_/session_end_info 1\n");
}

TEST_CASE("the folder of a run is one name, for any label") {
  RunSummary run;
  run.id = "0123456789ab";
  run.seed = 7;
  run.algorithm = "ad-psgd";
  const auto named = [&](const std::string& label) {
    run.label = label;
    return tensorboard_folder(run);
  };
  CHECK(named("A²CiD², lr 0.1") == "A²CiD²,-lr-0.1-seed7-0123456789ab");
  CHECK(named("") == "ad-psgd-seed7-0123456789ab");
  CHECK(named("../../etc/passwd") == "-.-..-etc-passwd-seed7-0123456789ab");
  CHECK(named("..") == "-.-seed7-0123456789ab");
  CHECK(named("a\\b\n\tc\"<script>") == "a-b-c-script--seed7-0123456789ab");
  CHECK(named("///") == "run-seed7-0123456789ab");
  const std::string longest = named(std::string(79, 'x') + "²" + std::string(5000, 'y'));
  CHECK(longest == std::string(79, 'x') + "-seed7-0123456789ab");
}

TEST_CASE("times of the store are seconds since 1970") {
  CHECK(unix_seconds("1970-01-01T00:00:00.000Z") == 0);
  CHECK(unix_seconds("2024-02-29T12:30:05.250Z") == 1709209805.25);
  CHECK(unix_seconds("") == 0);
}

}  // namespace
}  // namespace acid
