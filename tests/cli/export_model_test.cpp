// `acid export` of files that the engine makes: a model as TorchScript, a test set. pytorch_test.py
// tests what PyTorch reads in them.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/cli/scripted_worker.hpp"

using acid::test::Result;
using acid::test::ScriptedWorker;

namespace {

constexpr const char* kModelRecipe = R"(
seeds = [1]
task.dataset = { kind = "glyphs", train = 20, test = 7 }
task.model = { kind = "mlp", hidden = [4] }
task.batch_size = 4
workers.count = 2
budget.gradients = 4
algorithms = ["ar-sgd"]
)";

/// A planned run with a model. The worker trains nothing and does `exporting` when asked to export.
struct ModelRun : ScriptedWorker {
  explicit ModelRun(const std::string& exporting)
      : ScriptedWorker("case \"$*\" in *--torchscript|*--test-set) ;; *) exit 1 ;; esac\n" +
                       exporting) {
    write("model.toml", kModelRecipe);
    // acid asks only whether LibTorch's module is there; this worker does not load it.
    call({"run", "model.toml"}, {"ACID_TORCH_MODULE=" + path("worker")});
    write("starts", "");
  }
  Result export_as(const std::string& format, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"export", "@latest", "--format", format});
    return call(more);
  }
};

template <typename T>
T read_as(const std::string& bytes, std::size_t at) {
  T value{};
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a test set is safetensors with the normalised examples in order, without LibTorch") {
  const ModelRun bench("exec $REAL \"$@\"\n");
  const Result result =
      bench.done({"export", "@latest", "--format", "test-set"}, {"ACID_TORCH_MODULE=/nowhere.so"});
  CHECK(result.err.empty());
  const auto length = read_as<std::uint64_t>(result.out, 0);
  REQUIRE(8 + length <= result.out.size());
  const auto header = nlohmann::json::parse(result.out.substr(8, length));
  CHECK(header["targets"]["dtype"] == "I64");
  CHECK(header["targets"]["shape"] == nlohmann::json{7});
  CHECK(header["inputs"]["dtype"] == "F32");
  CHECK(header["inputs"]["shape"] == nlohmann::json({7, 1, 28, 28}));
  CHECK(header["__metadata__"]["split"] == "test");
  CHECK(result.out.size() == 8 + length + 7 * 8 + 7 * 28 * 28 * 4);
  const std::size_t targets = 8 + length + header["targets"]["data_offsets"][0].get<std::size_t>();
  const std::size_t inputs = 8 + length + header["inputs"]["data_offsets"][0].get<std::size_t>();
  CHECK(targets % 8 == 0);
  double sum = 0;
  for (std::size_t row = 0; row < 7; ++row)
    CHECK(read_as<std::int64_t>(result.out, targets + 8 * row) == static_cast<int>(row));
  for (std::size_t k = 0; k < 7 * 28 * 28; ++k) sum += read_as<float>(result.out, inputs + 4 * k);
  CHECK(std::abs(sum / (7 * 28 * 28)) < 0.2);  // a byte's mean would be 40
}

TEST_CASE("what the worker writes of a model arrives byte by byte, in a file or on the output") {
  const ModelRun bench("printf 'a\\000b\\nc\\377'; head -c 300000 /dev/zero; echo words >&2\n");
  const std::string expected = std::string("a\0b\nc\xff", 6) + std::string(300000, '\0');
  const Result printed = bench.export_as("test-set");
  CHECK(printed.code == 0);
  CHECK(printed.out == expected);
  CHECK(printed.err == "words\n");
  const Result filed = bench.export_as("test-set", {"-o", "file"});
  CHECK(filed.code == 0);
  CHECK(filed.out.empty());
  CHECK(bench.read("file") == expected);
  const std::vector<std::string> starts = bench.starts();
  REQUIRE(starts.size() == 2);
  CHECK_THAT(starts[0],
             ContainsSubstring("--store acid-store --run ") && ContainsSubstring(" --test-set"));
}

TEST_CASE("a worker that fails leaves the file that was there, and its exit code is ours") {
  const ModelRun bench("printf half; echo reason >&2; exit 3\n");
  bench.write("file", "before");
  check_refused(bench.export_as("test-set", {"-o", "file"}),
                {"reason", "acid-worker ended with exit code 3"}, 3);
  CHECK(bench.read("file") == "before");
  const ModelRun killed("kill -9 $$\n");
  const Result result = killed.export_as("test-set");
  CHECK(result.code == 1);
  CHECK_THAT(result.err, ContainsSubstring("acid-worker ended with SIGKILL"));
}

TEST_CASE(
    "a run without a final model, or without any model, is refused before the worker is asked") {
  const ModelRun bench("echo asked\n");
  check_refused(bench.export_as("torchscript", {"-o", "file"}), {"has no final model"});
  CHECK_FALSE(bench.has("file"));
  CHECK(bench.starts().empty());
  const ScriptedWorker analytic("exec $REAL \"$@\"\n");
  analytic.done({"run", "one.toml"});
  analytic.write("starts", "");
  for (const char* format : {"torchscript", "test-set"})
    check_refused(analytic.call({"export", "@latest", "--format", format}),
                  {"quadratic", "safetensors"});
  CHECK(analytic.starts().empty());
}
