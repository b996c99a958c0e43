#include <algorithm>
#include <array>

#include "engine/base/names.hpp"
#include "engine/base/quantiles.hpp"
#include "engine/base/static_text.hpp"
#include "settings/network_keys.hpp"
#include "settings/run_settings.hpp"
#include "settings/schema.hpp"
#include "settings/sections.hpp"
#include "settings/use.hpp"

namespace acid {
namespace {

constexpr std::array kDrivers = {
    DriverEntry{.kind = DriverKind::virtual_time,
                .name = "virtual",
                .simulates = true,
                .unused = "it is the virtual driver's, and another is used"},
    DriverEntry{
        .kind = DriverKind::threads, .name = "threads", .unused = "the driver is not threads"},
    DriverEntry{.kind = DriverKind::mpi,
                .name = "mpi",
                .has_processes = true,
                .unused = "the driver is not mpi"}};
constexpr StaticText kDriverNames = StaticText().names(kDrivers, ",", ",");

using nlohmann::json;
using Compute = ComputeModel;
using Execution = ExecutionSettings;
using Virtual = VirtualOptions;

constexpr Fields kShift = fields<Compute>({key<&Compute::parameter>(
    "shift", "0.5", "share of the mean duration that is constant", at_least(0).below(1))});
constexpr Fields kSigma = fields<Compute>(
    {key<&Compute::parameter>("sigma", "0.2", "standard deviation of the logarithm of the duration",
                              at_least(0).at_most(10))});
constexpr Fields kShape = fields<Compute>({key<&Compute::parameter>(
    "shape", "3.0", "tail exponent; the mean is finite above 1", above(1))});
constexpr Fields kMeasured = fields<Compute>({key_of<Compute>(
    "quantiles", FieldType::numbers, "",
    "durations at evenly spaced probabilities from 0 to 1, in any unit: their ratios count",
    at_least(0).at_most(1e15), [](Compute& compute, const json& value, const Field&) {
      auto durations = value.get<std::vector<double>>();
      if (const char* wrong = why_no_quantiles(durations)) throw std::invalid_argument(wrong);
      compute.quantiles = with_mean_1(std::move(durations));
    })});
constexpr KindedFields kCompute = kinded(
    kNoKeys<Compute>, "constant",
    {kind<kNoKeys<Compute>, &Compute::kind>("constant", "every gradient takes the mean duration",
                                            Values<ComputeKind::constant>{}),
     kind<kNoKeys<Compute>, &Compute::kind>("exponential", "exponentially distributed around it",
                                            Values<ComputeKind::exponential>{}),
     kind<kShift, &Compute::kind>("shifted-exponential", "a constant share, the rest exponential",
                                  Values<ComputeKind::shifted_exponential>{}),
     kind<kSigma, &Compute::kind>("lognormal", "the logarithm is normally distributed",
                                  Values<ComputeKind::lognormal>{}),
     kind<kShape, &Compute::kind>("pareto", "a heavy tail: few gradients take very long",
                                  Values<ComputeKind::pareto>{}),
     kind<kMeasured, &Compute::kind>("measured", "distributed as durations that were measured",
                                     Values<ComputeKind::measured>{})});

constexpr Fields kSlowdown = fields<Compute>(
    {key<&Compute::slowdown_probability>(
         "probability", "", "share of the gradients that are slowed down", at_least(0).at_most(1)),
     key<&Compute::slowdown_factor>("factor", "", "how many times longer they take",
                                    above(0).at_most(kLongest))});

constexpr Fields kPause = fields<Pause>(
    {key<&Pause::worker>("worker", "", "the worker that pauses", at_least(0)),
     key<&Pause::at_seconds>("at_seconds", "", "when the pause begins", kDuration),
     key<&Pause::for_seconds>("for_seconds", "", "how long it lasts", above(0).at_most(kLongest))});

// Sorts pauses by start time and joins a worker's overlapping ones.
void read_pauses(Virtual& options, const json& section, const Field&) {
  std::vector<Pause> given;
  for (const json& pause : section) kPause.fill(given.emplace_back(), pause);
  std::ranges::stable_sort(given, {}, &Pause::at_seconds);
  std::vector<Pause>& joined = options.compute.pauses;
  for (const Pause& pause : given) {
    const auto earlier = std::ranges::find_if(joined, [&](const Pause& other) {
      return other.worker == pause.worker &&
             other.at_seconds + other.for_seconds >= pause.at_seconds;
    });
    if (earlier == joined.end())
      joined.push_back(pause);
    else
      earlier->for_seconds = std::max(earlier->for_seconds,
                                      pause.at_seconds + pause.for_seconds - earlier->at_seconds);
  }
}

// Finer buckets take long to simulate and change little.
constexpr Bounds kBucketBytes = at_least(1024).at_most(1e15);
constexpr std::uint8_t kSize = 1, kFirstSize = 2, kHosts = 1;  // Field::either
constexpr Fields kCost = fields<CostModel>(
    {key<&CostModel::forward_share>(
         "forward_share", "0.3333333333333333",
         "the forward pass's share of a gradient; the backward pass is the rest",
         at_least(0).at_most(1))
         .unused(&use::without_buckets),
     key<&CostModel::optimizer_share>(
         "optimizer_share", "0.0",
         "the optimiser's time in gradient durations, on top of the gradient, for every algorithm",
         at_least(0).at_most(1e6)),
     key<&CostModel::exchange_seconds>(
         "exchange_seconds", "0.0",
         "a worker's own time for an exchange, in seconds: a lock, a pass over memory; it lasts so "
         "much longer, and so does the gradient that is computed when it ends; in rounds for each "
         "message heard from a neighbour",
         at_least(0).at_most(1e9))
         .later()
         .unused(&use::exchange_seconds),
     key<&CostModel::bucket_bytes>(
         "bucket_bytes", "26214400",
         "size of the pieces in which exchanges overlap the backward pass (PyTorch: 25 MiB)",
         kBucketBytes)
         .as(FieldType::integer)
         .added()
         .either(kSize),
     key<&CostModel::first_bucket_bytes>(
         "first_bucket_bytes", "null",
         "size of the first of them; absent: 1 MiB (as PyTorch), at most bucket_bytes",
         kBucketBytes)
         .as(FieldType::integer)
         .either(kFirstSize),
     key<&CostModel::buckets>("buckets", "null", "number of equal pieces instead",
                              at_least(1).at_most(1e6))
         .either(kSize | kFirstSize)
         .unused(&use::without_buckets)});

// Read separately, once the number of workers is known.
template <class T>
constexpr Key<T> slow_workers(std::string_view help, Bounds bounds, std::string_view words) {
  return key_of<T>("slow_workers", FieldType::factors, "{}", help, bounds)
      .said(words, "factor by which a worker's gradients take longer", "slow_workers = { 0 = 4.0 }")
      .ranked(-2);
}
// For threads and processes, which are really slowed.
template <class T>
constexpr Key<T> really_slow_workers() {
  return slow_workers<T>(
      "worker = factor by which its gradients take longer; a real gradient cannot be made "
      "faster: slow the others down instead, or use driver = \"virtual\"",
      at_least(1), "worker = a number from 1");
}

constexpr Fields kVirtual = fields<Virtual>(
    {choice<&Virtual::gradient_clock>(
         "gradient_clock", "duration,poisson,none", "\"duration\"",
         "duration: gradients take time; poisson: unit-rate events, as in the theory; none: "
         "exchanges alone",
         Values<GradientClock::duration, GradientClock::poisson, GradientClock::none>{})
         .unused(&use::gradient_clock),
     key_of<Virtual>(
         "machine", FieldType::text, "null",
         "a measured machine (acid machines), by name or as a .toml file: its numbers stand "
         "wherever the recipe has none; they are in the digest, the name is not")
         .later()
         .placement()
         .said("the name of a machine, or the path of a .toml file", "", "machine = \"a40-25gbe\""),
     section<kCompute, &Virtual::compute>("compute", "how long gradients take"),
     slow_workers<Virtual>("worker = factor by which its gradients take longer",
                           above(0).at_most(kLongest), "worker = a number above 0"),
     section<kSlowdown, &Virtual::compute>("random_slowdown",
                                           "gradients that take longer now and then",
                                           R"({"probability": 0.0, "factor": 1.0})"),
     key_of<Virtual>("pauses", FieldType::sections, "[]", "workers that stop for a while", {},
                     &read_pauses)
         .of(kTableOf<kPause>),
     key<&Virtual::variation>("variation", "0.0",
                              "how much one run's machine differs from another's: standard "
                              "deviation of the logarithm of "
                              "a factor on all times of a run but the pauses",
                              at_least(0).at_most(1))
         .later(),
     section<network_keys::kNetwork>("network", "how long messages take"),
     section<kCost, &Virtual::cost>("cost", "which part of a gradient messages can overlap")});

constexpr Fields kThreads = fields<Execution>(
    {key<&Execution::exchange_threads>(
         "exchange_threads", "null",
         "threads that carry out exchanges; absent: chosen from cores and workers",
         at_least(1).at_most(1024))
         .unused(&use::without_exchanges),
     really_slow_workers<Execution>()});

constexpr Fields kMpi = fields<MpiSettings>(
    {key<&MpiSettings::launcher>(
         "launcher", "\"mpirun\"",
         "program that starts the processes; none: you start acid once per worker")
         .among("mpirun,srun,none")
         .placement(),
     key<&MpiSettings::hostfile>("hostfile", "null",
                                 "mpirun's file of hosts and slots; looked for when the run starts")
         .either(kHosts)
         .placement(),
     key<&MpiSettings::processes_per_host>("processes_per_host", "null",
                                           "workers on one host; absent: as even as can be",
                                           at_least(1).at_most(1e6))
         .placement(),
     choice<&MpiSettings::library_sum>(
         "all_reduce", "ordered,library", "\"ordered\"",
         "ordered: the same bits everywhere; library: MPI's own, which no replay can match",
         Values<false, true>{})
         .unused(&use::without_all_reduce),
     key<&MpiSettings::transport, &MpiTransportOptions::ports>(
         "ports", "null",
         "\"20000-20100\": where processes listen for each other; absent: anywhere")
         .placement(),
     key<&MpiSettings::start_seconds>(
         "start_seconds", "300",
         "how long to wait for each process to start, before the run begins",
         at_least(1).at_most(1e6))
         .added()
         .placement(),
     key<&MpiSettings::transport, &MpiTransportOptions::interface>(
         "interface", "null", "network interface over which processes find each other; absent: any")
         .placement(),
     choice<&MpiSettings::go_on>(
         "on_loss", "restart,go-on", "\"restart\"",
         "when a process dies: restart from the last checkpoint; go-on: asynchronous methods go on "
         "without it, where MPI is fault tolerant",
         Values<false, true>{})
         .added()
         .placement()
         .unused(&use::on_loss),
     key<&MpiSettings::hosts>("hosts", "[]", "hosts of the processes; default: this host")
         .apart()
         .either(kHosts)
         .said("", "", "hosts = [\"node1\", \"node2\"]")
         .ranked(-1)
         .placement(),
     key<&MpiSettings::arguments>("arguments", "[]", "further arguments of the launcher")
         .apart()
         .said("", "", "arguments = [\"--bind-to\", \"core\"]")
         .ranked(-1)
         .placement(),
     really_slow_workers<MpiSettings>()});

constexpr Fields kExecution = fields<Execution>(
    {key_of<Execution>("driver", FieldType::text, "\"virtual\"",
                       "virtual: simulated time; threads, mpi: one thread or process per worker",
                       {},
                       [](Execution& execution, const json& value, const Field& field) {
                         execution.driver = kDrivers.at(index_of_choice(field, value)).kind;
                       })
         .among(kDriverNames.view()),
     choice<&Execution::cuda>(
         "device", "cpu,cuda", "\"cpu\"",
         "where workers live and models compute; analytic tasks compute on the CPU",
         Values<false, true>{}),
     key<&Execution::threads_per_worker>(
         "threads_per_worker", "1",
         "threads inside one gradient; part of the arithmetic, so part of the digest",
         at_least(1).at_most(1024)),
     key<&Execution::max_backlog>(
         "max_backlog", "4",
         "due edges that may wait, times max(1, worker rate), before gradients hold",
         at_least(1).at_most(1e6))
         .as(FieldType::integer)
         .unused(&use::max_backlog),
     key<&Execution::max_load>(
         "max_load", "null",
         "the plan is refused unless every worker's load is below this; with 1, unless all can "
         "keep up with their exchanges; absent: any load, and the throttle holds gradients",
         above(0))
         .later()
         .placement()
         .unused(&use::max_load),
     key<&Execution::max_restarts>("max_restarts", "3",
                                   "how often acid run restarts a worker whose process died",
                                   at_least(0).at_most(1e6))
         .added()
         .placement(),
     key<&Execution::predict>(
         "predict", "false",
         "acid run predicts each run before it begins: seconds, bytes and losses, which acid "
         "compare --predicted scores; execution.virtual describes the machine")
         .later()
         .placement(),
     key<&Execution::predict_runs>(
         "predict_runs", "5",
         "simulated runs, with other seeds, that a prediction is made from, at least 2; 0: seconds "
         "and bytes alone, from the clock",
         at_least(0).at_most(1000))
         .later()
         .placement()
         .unused(&use::predict_runs),
     section<kVirtual, &Execution::simulation>("virtual",
                                               "simulated time: what gradients and messages take")
         .unused(&use::simulated_time),
     section<kThreads>("threads", "a thread per worker")
         .unused(&use::without_driver<DriverKind::threads>),
     section<kMpi, &Execution::mpi>("mpi", "a process per worker")
         .added()
         .unused(&use::without_driver<DriverKind::mpi>)});

std::vector<double> per_worker(const json& section, int workers) {
  const json& factors = section.at("slow_workers");
  if (factors.empty()) return {};
  std::vector<double> list(static_cast<std::size_t>(workers), 1.0);
  for (const auto& [worker, factor] : factors.items())
    list.at(std::stoul(worker)) = factor.get<double>();
  return list;
}

}  // namespace

const FieldTable execution_table = table_of<kExecution>();

std::span<const DriverEntry> driver_catalog() { return kDrivers; }

const DriverEntry& entry_of(DriverKind kind) { return kDrivers.at(static_cast<std::size_t>(kind)); }

bool simulates(std::string_view driver) {
  const DriverEntry* const entry = find_named(driver_catalog(), driver);
  return entry != nullptr && entry->simulates;
}

ExecutionSettings execution_of(const json& section, int workers) {
  ExecutionSettings execution;
  kExecution.fill(execution, section);
  for (const DriverEntry& driver : kDrivers) {
    const bool chosen = driver.kind == execution.driver;
    if (!chosen && !section.contains(driver.name)) continue;
    std::vector<double> factors = per_worker(section.at(driver.name), workers);
    if (chosen) execution.slow_factors = std::move(factors);
  }
  if (!execution.entry().has_processes) execution.mpi.reset();
  if (execution.entry().simulates)
    execution.simulation.compute.slow_factors = execution.slow_factors;
  execution.simulation.network.settle(workers);
  return execution;
}

}  // namespace acid
