// Event logs under replay. The input is options, a number of made-up events, then edits: either a
// valid script of three workers, with one clock or with their own, gets hostile edits, or all
// events are made up. The script is executed or refused as a BrokenScript; it never hangs or breaks
// an invariant.
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/data/analytic.hpp"
#include "engine/drivers/replay/replay.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "engine/topology/spectral.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

constexpr int kWorkers = 3;
constexpr int kCommits = 24;
constexpr std::size_t kMostEvents = 400;  // of one worker

struct FuzzedRun {
  Topology graph = make_topology(kWorkers, {{"kind", "ring"}});
  RunSpec spec;
  std::unique_ptr<Objective> objective;

  FuzzedRun() {
    spec.workers = kWorkers;
    spec.topology = &graph;
    spec.seeds = Seeds(1);
    const AlgorithmEntry* algorithm = find_algorithm("a2cid2");
    const Spectral nominal = spectral(graph, 2);
    spec.method =
        algorithm->make(with_fallbacks(algorithm->fields, {{"communication_rate", 2.0}}), &nominal);
    spec.optimizer.momentum = 0.9;
    spec.budget.gradients = kCommits;
    spec.cadence.evaluate_every = 2;
    const AnalyticEntry* task = find_analytic("quadratic");
    objective = task->make(with_fallbacks(task->fields, {{"dimension", 4}, {"noise", 0.5}}),
                           kWorkers, 1, nullptr, 0, spec.seeds, 2);
  }
};

// The events of the run: gradients in a fixed but irregular order, every exchange once it is due, a
// sample every 6 commits and a checkpoint every 8. With clocks of their own, workers hear of the
// others' commits now and then, and the higher partner of an exchange applies it later.
class ValidScript {
 public:
  ValidScript(const RunSpec& spec, bool shared_clock)
      : edges_(*spec.topology, spec.method.rate, spec.seeds) {
    script_.shared_clock = shared_clock;
    script_.workers.resize(kWorkers);
    mark(EventKind::measured);
    for (commits_ = 0; commits_ < kCommits;) {
      const auto w = static_cast<std::size_t>((commits_ + 1) * (commits_ + 1) % 7 % kWorkers);
      if (!computing_[w]) add(w, EventKind::begin_gradient);
      if (shared_clock || commits_ % 2 == 0) clocks_[w] = commits_;
      exchange_due(commits_ + shared_clock);
      ++commits_;
      clocks_[w] = shared_clock ? commits_ : clocks_[w] + 1;
      computing_[w] = commits_ % 3 == 0;
      add(w, computing_[w] ? EventKind::commit_and_begin : EventKind::commit_gradient);
      if (commits_ % 6 == 0) mark(EventKind::measured);
      if (commits_ % 8 == 0) mark(EventKind::checkpoint);
    }
    exchange_due(kCommits);
    for (std::size_t each = 0; each < kWorkers; ++each) apply(each);
  }
  const ReplayScript& script() const { return script_; }

 private:
  void add(std::size_t w, EventKind kind, std::uint64_t exchange = 0) {
    script_.workers[w].push_back({.kind = kind,
                                  .time = static_cast<double>(clocks_[w]) / kWorkers,
                                  .exchange = exchange & kExchangeMask});
  }
  void apply(std::size_t w) {
    if (in_flight_[w]) add(w, EventKind::apply, *in_flight_[w]);
    in_flight_[w].reset();
  }
  void mark(EventKind kind) {
    for (std::size_t w = 0; w < kWorkers; ++w) {
      apply(w);
      clocks_[w] = commits_;
    }
    for (std::size_t w = 0; w < kWorkers; ++w) add(w, kind);
  }
  void exchange_due(int now) {
    for (; edges_.peek().due <= static_cast<double>(now) / kWorkers; edges_.pop()) {
      const std::uint64_t number = edges_.peek().number;
      const auto i = static_cast<std::size_t>(edges_.peek().i);
      const auto j = static_cast<std::size_t>(edges_.peek().j);
      for (const std::size_t w : {i, j}) {
        apply(w);
        clocks_[w] = now;
        add(w, script_.shared_clock ? EventKind::exchange : EventKind::offer, number);
        if (!script_.shared_clock) in_flight_[w] = number;
      }
      apply(i);
    }
  }

  EdgeSchedule edges_;
  ReplayScript script_;
  int commits_ = 0;
  std::array<int, kWorkers> clocks_{};
  std::array<bool, kWorkers> computing_{};
  std::array<std::optional<std::uint64_t>, kWorkers> in_flight_;
};

bool of_exchange(EventKind kind) {
  return kind == EventKind::exchange || kind == EventKind::offer || kind == EventKind::apply;
}

// Checks that positions never decrease and that events come without gaps.
class StrictRecorder final : public Recorder {
 public:
  void sample(const Position& position, std::span<const Value>) override {
    ACID_ASSERT(position.gradients >= last_.gradients && position.bytes >= last_.bytes &&
                    position.normalised_time >= last_.normalised_time,
                "a sample at {} gradients after one at {}", position.gradients, last_.gradients);
    last_ = position;
  }
  void progress(const Position&) override {}
  void note(Severity, std::string_view) override {}
  void events(int worker, std::int64_t first, std::span<const Event> events) override {
    Own& own = workers_.at(static_cast<std::size_t>(worker));
    if (own.events.empty()) own.first = first;
    ACID_ASSERT(first == own.first + std::ssize(own.events), "event {} after {} of worker {}",
                first, own.first + std::ssize(own.events), worker);
    own.events.insert(own.events.end(), events.begin(), events.end());
  }

  // Checks that the reported events are the requested ones.
  void expect(const ReplayScript& script) const {
    for (std::size_t w = 0; w < workers_.size(); ++w)
      for (std::size_t k = 0; k < workers_[w].events.size(); ++k) {
        const Event& event = workers_[w].events[k];
        const Event& asked = script.workers[w].at(k + static_cast<std::size_t>(workers_[w].first));
        ACID_ASSERT(
            event.kind == asked.kind && event.time == asked.time &&
                (!of_exchange(asked.kind) || (event.exchange & kExchangeMask) == asked.exchange),
            "event {} of worker {}: {} at {}", k, w, event_name(event.kind), event.time);
      }
  }

 private:
  struct Own {
    std::int64_t first = 0;
    std::vector<Event> events;
  };
  Position last_;
  std::array<Own, kWorkers> workers_;  // each by one thread at a time
};

// Keeps the first cut in a file, if asked to.
class CutKeeper final : public Checkpoints {
 public:
  explicit CutKeeper(std::string path = {}) : path_(std::move(path)) {}
  bool due(std::int64_t, const Position&) override { return false; }
  double next_time() const override { return kNever; }
  bool has(std::int64_t) const override { return false; }
  void save(const Cut& cut) override {
    if (!path_.empty())
      write_checkpoint(path_, {.metadata = {{kLayoutKey, std::string(cut.layout)}},
                               .vectors = cut.vectors,
                               .state = cut.state});
    path_.clear();
  }

 private:
  std::string path_;
};

struct Options {
  bool complete = true;
  int threads = 1;
  const CheckpointFile* resume = nullptr;
};

// Absent when the script was refused.
std::optional<Outcome> replay(FuzzedRun& run, const ReplayScript& script, const Options& options,
                              CutKeeper keeper = CutKeeper()) {
  StrictRecorder recorder;
  std::optional<Outcome> outcome;
  accepted([&] {
    outcome = run_replay({.spec = run.spec,
                          .objective = *run.objective,
                          .recorder = recorder,
                          .checkpointing = {.checkpoints = &keeper, .resume = options.resume}},
                         script, options.complete, options.threads);
  });
  if (outcome && outcome->ending != Ending::diverged) recorder.expect(script);
  return outcome;
}

// Checks that a valid script is accepted, and gives the same bits from a checkpoint; otherwise the
// fuzzer would test refusals only.
std::unique_ptr<CheckpointFile> checked_checkpoint(FuzzedRun& run, const ReplayScript& script) {
  const Folder folder;
  const std::string path = folder.path("cut.safetensors");
  const auto whole = replay(run, script, {}, CutKeeper(path));
  ACID_ASSERT(whole && whole->ending == Ending::finished, "the valid script was refused");
  auto file = std::make_unique<CheckpointFile>(path);
  ReplayScript rest = script;
  rest.marks_before = 1;
  const auto resumed = replay(run, rest, {.threads = 2, .resume = file.get()});
  ACID_ASSERT(resumed && resumed->worker_digests == whole->worker_digests, "other bits");
  return file;
}

struct Valid {
  Valid(FuzzedRun& run, bool shared_clock)
      : script(ValidScript(run.spec, shared_clock).script()),
        file(checked_checkpoint(run, script)) {}
  const ReplayScript script;
  const std::unique_ptr<CheckpointFile> file;
};

Event made_up(Input& input) {
  Event event;
  event.kind = static_cast<EventKind>(input.below(kEventKinds));
  const std::uint8_t how = input.number<std::uint8_t>();
  event.time = how % 8 == 0 ? input.number<double>() : static_cast<double>(how) / kWorkers / 8;
  event.exchange = input.number<std::uint16_t>() & kExchangeMask;
  return event;
}

void edit(Input& input, ReplayScript& script) {
  const std::size_t what = input.below(8);
  std::vector<Event>& events = script.workers[input.below(kWorkers)];
  const std::size_t at = input.number<std::uint8_t>() % (events.size() + 1);
  const auto here = events.begin() + static_cast<std::ptrdiff_t>(at);
  if (what == 0 && events.size() < kMostEvents) {
    events.insert(here, made_up(input));
  } else if (what == 1) {
    const Event mark = made_up(input);
    for (auto& own : script.workers) own.push_back(mark);
  } else if (at == events.size()) {
    return;
  } else if (what == 2) {
    events.erase(here);
  } else if (what == 3) {
    events.resize(at);
  } else if (what == 4) {
    *here = made_up(input);
  } else if (what == 5) {
    const std::size_t like = input.number<std::uint8_t>();
    here->time = like < events.size() ? events[like].time : input.number<double>();
  } else if (what == 6) {
    here->exchange ^= input.number<std::uint16_t>() & kExchangeMask;
  } else if (at + 1 < events.size()) {
    std::swap(*here, *std::next(here));
  }
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static FuzzedRun run;
  static const Valid with_one_clock(run, true), with_own_clocks(run, false);
  Input input(data, size);
  const std::uint8_t choice = input.number<std::uint8_t>();
  const Valid& valid = choice & 64 ? with_own_clocks : with_one_clock;
  acid::ReplayScript script = valid.script;
  if (choice & 1)
    for (auto& events : script.workers) events.clear();
  const Options options{.complete = (choice & 2) == 0,
                        .threads = choice & 4 ? 2 : 1,
                        .resume = choice & 8 ? valid.file.get() : nullptr};
  if (options.resume != nullptr) script.marks_before = static_cast<int>(1 + (choice >> 4) % 4);
  for (int edits = 0; edits < 64 && input.left() > 0; ++edits) edit(input, script);
  replay(run, script, options);
  return 0;
}
