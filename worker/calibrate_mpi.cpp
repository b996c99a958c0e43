#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <set>

#include "engine/drivers/mpi/all_reduce.hpp"
#include "engine/environment/environment.hpp"
#include "engine/transport/left_segments.hpp"
#include "recipes/parse.hpp"
#include "worker/calibrate.hpp"
#include "worker/calibration.hpp"
#include "worker/calibration_crew.hpp"
#include "worker/mpi_job.hpp"

namespace acid {
namespace {

using nlohmann::json;

// The last one is smaller where the network is slow.
constexpr std::size_t kMessageFloats[] = {1, 1 << 14, 1 << 18, 1 << 22};
constexpr std::size_t kReducedFloats[] = {1 << 14, 1 << 18, 1 << 22};
constexpr double kMessageWeight = 0.5, kExchangesWeight = 3, kReduceWeight = 0.75;

double bytes_of(std::size_t floats) { return static_cast<double>(floats * sizeof(float)); }
/// So many floats that two messages take no longer than `share`, from what `known` took; at least
/// twice as many as these, and at most `most`.
std::size_t affordable(std::size_t known, double seconds, double share, std::size_t most) {
  const double times = std::clamp(share / (4 * seconds), 2.0, 1e6);
  return std::min(most, static_cast<std::size_t>(times * static_cast<double>(known)));
}

/// One process's part in the calibration of the hosts of a run.
class HostsCalibration {
 public:
  HostsCalibration(const CalibrationOrder& order, CalibrationCrew& crew)
      : crew_(crew), shares_(order.seconds) {
    shares_.expect(kGradientsWeight, counts().size() * order.threads.size());
    if (inside_partner() != 0) shares_.expect(kMessageWeight, std::size(kMessageFloats));
    if (between_partner() != 0) {
      shares_.expect(kMessageWeight, std::size(kMessageFloats));
      shares_.expect(kExchangesWeight, 2);
    }
    if (crew.size() > 1) shares_.expect(kReduceWeight, 1 + std::size(kReducedFloats));
    shares_.expect(kCostWeight, 2);
  }

  /// The gradients of a run, with its number of threads.
  void measure_gradients(const ComposedRun& run, GradientTimer& timer) {
    for (const int count : counts()) {
      const double share = begin(
          kGradientsWeight, gradients_words(count, run.spec.threads_per_worker, " on each host"));
      std::vector<double> own;
      for (const auto& ranks : crew_.hosts()) {
        const auto at = std::ranges::find(ranks, crew_.rank()) - ranks.begin();
        if (std::ranges::count(ranks, crew_.rank()) > 0 && at < count &&
            ranks.size() >= count_of(count))
          crew_.work([&] { own = timer.measure(share); });
      }
      if (!own.empty()) alone_seconds_ = mean_duration(own);
      if (!own.empty() && !crew_.leads()) crew_.report(own);
      if (crew_.leads()) collect(count, run.spec.threads_per_worker, std::move(own));
    }
  }

  /// All else; the result, in rank 0.
  json measure_rest(const ComposedRun& run, GradientTimer& timer) {
    if (crew_.leads()) result_.update(describe_calibration(run));
    json inside = measure_link("inside hosts", inside_partner());
    json between = measure_link("between hosts", between_partner());
    add_links(std::move(inside), std::move(between));
    const double exchange = begin(kCostWeight, "an exchange");
    if (crew_.leads())
      crew_.work(
          [&] { result_["cost"]["exchange_seconds"] = exchange_cost(run, timer, exchange); });
    const double sample = begin(kCostWeight, "an evaluation");
    if (crew_.leads())
      crew_.work([&] { result_["cost"]["sample_seconds"] = sample_cost(run, timer, sample); });
    const std::size_t floats = timer.x().size();
    if (between_partner() != 0) measure_exchanges(timer, floats);
    if (crew_.size() > 1) measure_all_reduces(run, timer);
    crew_.meet();
    return std::move(result_);
  }

 private:
  static std::size_t count_of(int count) { return static_cast<std::size_t>(count); }

  // 1, 2, 4, …, and as many as each host has.
  std::vector<int> counts() const {
    std::set<int> all;
    for (const auto& ranks : crew_.hosts()) all.insert(static_cast<int>(ranks.size()));
    for (const int count : worker_counts(*all.rbegin())) all.insert(count);
    return {all.begin(), all.end()};
  }

  // All processes begin together. Returns the seconds that rank 0 has for it.
  double begin(double weight, const std::string& what) {
    const double share = crew_.leads() ? shares_.next(weight, what) : 0;
    return 1e-3 * crew_.meet(static_cast<std::int32_t>(std::min(share, 1e6) * 1e3));
  }

  void collect(int count, int threads, std::vector<double> own) {
    durations_.clear();
    for (std::size_t host = 0; host < crew_.hosts().size(); ++host) {
      const auto& ranks = crew_.hosts()[host];
      if (ranks.size() < count_of(count)) continue;
      std::vector<double> durations;
      for (int k = 0; k < count; ++k) {
        const int rank = ranks[static_cast<std::size_t>(k)];
        const std::vector<double> more = rank == 0 ? own : crew_.reported_by(rank);
        durations.insert(durations.end(), more.begin(), more.end());
      }
      durations_.insert(durations_.end(), durations.begin(), durations.end());
      json entry = gradients_entry(count, threads, durations);
      if (crew_.hosts().size() > 1) entry["host"] = crew_.host_name(host);
      result_["gradients"].push_back(std::move(entry));
    }
  }

  int inside_partner() const {
    const auto& ranks = crew_.hosts().front();
    return ranks.size() > 1 ? ranks[1] : 0;
  }
  int between_partner() const { return crew_.hosts().size() > 1 ? crew_.hosts()[1].front() : 0; }

  // {"latency_seconds", "bandwidth_bytes_per_second"}, in rank 0; null without a partner.
  json measure_link(const char* where, int partner) {
    if (partner == 0) return {};
    std::vector<double> bytes, seconds;
    for (std::size_t floats : kMessageFloats) {
      const double share = begin(kMessageWeight, fmt::format("messages {}", where));
      if (crew_.leads() && !seconds.empty() && floats == kMessageFloats[3])
        floats = affordable(kMessageFloats[2], seconds.back(), share, floats);
      const auto agreed = static_cast<std::size_t>(crew_.meet(static_cast<std::int32_t>(floats)));
      if (!crew_.leads() && crew_.rank() != partner) continue;
      bytes.push_back(bytes_of(agreed));
      seconds.push_back(crew_.message_seconds(partner, agreed, share));
      if (crew_.leads())
        result_["network"]["messages"].push_back({{"inside", partner == inside_partner()},
                                                  {"bytes", agreed * sizeof(float)},
                                                  {"seconds", seconds.back()}});
    }
    if (!crew_.leads()) return {};
    // Where other work of the machine hides what more bytes cost, the largest message's own rate,
    // which is at most the link's.
    const double more = seconds[3] - seconds[2];
    return {{"latency_seconds", seconds[0]},
            {"bandwidth_bytes_per_second",
             more > 0 ? (bytes[3] - bytes[2]) / more : bytes[3] / seconds[3]}};
  }

  void add_links(json inside, json between) {
    if (!crew_.leads()) return;
    if (!inside.is_null()) result_["network"]["inside"] = std::move(inside);
    if (between.is_null()) return;
    result_["network"].update(between);
    result_["workers_per_node"] = crew_.hosts().front().size();
  }

  // Of the first two hosts, whose processes meet in pairs: the other one; -1 for those left.
  int partner_elsewhere() const {
    const auto &first = crew_.hosts()[0], &second = crew_.hosts()[1];
    for (std::size_t k = 0; k < pairs(); ++k) {
      if (first[k] == crew_.rank()) return second[k];
      if (second[k] == crew_.rank()) return first[k];
    }
    return -1;
  }
  std::size_t pairs() const { return std::min(crew_.hosts()[0].size(), crew_.hosts()[1].size()); }

  // work() ends up to 20 ms late, and a short gradient needs no heartbeats.
  void compute(GradientTimer& timer) {
    constexpr double kShort = 1;
    if (alone_seconds_ < kShort)
      timer.compute();
    else
      crew_.work([&] { timer.compute(); });
  }

  /// What a message between hosts takes while those of all pairs share the network card.
  double message_between(std::size_t floats) const {
    const json& network = result_.at("network");
    const double bandwidth = network.value("bandwidth_bytes_per_second", 0.0);
    const double bytes = bytes_of(floats) * static_cast<double>(pairs());
    return network.at("latency_seconds").get<double>() + (bandwidth > 0 ? bytes / bandwidth : 0);
  }

  // An exchange costs a worker as much as its gradients last longer, by exchange.
  void measure_exchanges(GradientTimer& timer, std::size_t floats) {
    const int partner = partner_elsewhere();
    const double share = begin(kExchangesWeight, "exchanges between hosts, beside gradients");
    double meeting = 0, cost = 0;
    {
      std::vector<double> durations;
      auto computed = std::async(std::launch::async, [&] { durations = timer.measure(share); });
      if (partner >= 0) meeting = crew_.exchange_seconds(partner, floats, share);
      crew_.work([&] { computed.get(); });
      const double duration = mean_duration(durations);
      cost = (duration - alone_seconds_) * meeting / duration;
    }
    const double time = begin(kExchangesWeight, "vectors to neighbours on other hosts");
    const double swap =
        partner >= 0 ? crew_.swap_seconds(partner, floats, time, [&] { compute(timer); }) : 0;
    if (partner >= 0 && !crew_.leads()) crew_.report({meeting, cost, swap});
    if (crew_.leads()) add_exchanges(floats, {meeting, cost, swap});
  }

  void add_exchanges(std::size_t floats, std::vector<double> sums) {
    const auto &first = crew_.hosts()[0], &second = crew_.hosts()[1];
    for (const auto* ranks : {&first, &second})
      for (std::size_t k = 0; k < pairs(); ++k) {
        if ((*ranks)[k] == 0) continue;
        const std::vector<double> more = crew_.reported_by((*ranks)[k]);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
      }
    for (double& sum : sums) sum /= static_cast<double>(2 * pairs());
    const double cost = std::max(0.0, sums[1]), message = message_between(floats);
    result_["cost"]["exchange_seconds"] = cost;
    result_["network"]["overhead"] = {
        {"exchange_seconds", std::max(0.0, sums[0] - cost - message)},
        {"neighbours_seconds",
         std::max(0.0, sums[2] - mean_longest(durations_, 2) - cost - message)}};
  }

  // Last that of the run's own vectors, in rounds with a gradient: what they last longer than the
  // slowest gradient.
  void measure_all_reduces(const ComposedRun& run, GradientTimer& timer) {
    const std::size_t own = timer.x().size();
    std::vector<std::size_t> all;
    std::vector<double> seconds;
    for (std::size_t floats : {kReducedFloats[0], kReducedFloats[1], kReducedFloats[2], own}) {
      const double share =
          begin(kReduceWeight, fmt::format("all-reduces of {} processes", crew_.size()));
      if (floats == kReducedFloats[2] && all.size() == 2)
        floats = affordable(kReducedFloats[1], seconds.back(), share, floats);
      all.push_back(static_cast<std::size_t>(crew_.meet(static_cast<std::int32_t>(floats))));
      seconds.push_back(all.size() < 4
                            ? crew_.all_reduce_seconds(all.back(), share)
                            : crew_.all_reduce_seconds(own, share, [&] { compute(timer); }));
      if (crew_.leads() && all.size() == 4)
        seconds.back() = std::max(0.0, seconds.back() - mean_longest(durations_, crew_.size()));
      if (crew_.leads())
        result_["network"]["all_reduces"].push_back({{"workers", crew_.size()},
                                                     {"bytes", all.back() * sizeof(float)},
                                                     {"seconds", seconds.back()}});
    }
    if (crew_.leads() && !run.settings.execution.mpi->library_sum) add_all_reduce(all, seconds);
  }

  // Fits the simulated all-reduce of this kind: its share of the bandwidth by the two largest
  // sizes, and what each bucket takes on top by the run's own. With B buckets that are ready at
  // once, whose bytes take b seconds, and the latency l of one way it lasts max(b + l,
  // b (B + 1) / (2 B) + 2 l), as in MessageCosts::all_reduced(). The overhead is latency, half of
  // it each way.
  void add_all_reduce(const std::vector<std::size_t>& floats, const std::vector<double>& seconds) {
    json& network = result_["network"];
    const bool alone = crew_.hosts().size() == 1;
    const json& link = alone ? network.at("inside") : network;
    const double latency = link.at("latency_seconds");
    const double bandwidth = link.value("bandwidth_bytes_per_second", 0.0);
    const double per_byte = bandwidth > 0 ? vectors_over_a_link() / bandwidth : 0;
    double share = 1;
    if (const double more = seconds[2] - seconds[1]; more > 0 && per_byte > 0)
      share = std::clamp(per_byte * (bytes_of(floats[2]) - bytes_of(floats[1])) / more, 1e-3, 1.0);
    const auto buckets = static_cast<double>(Buckets(floats[3]).size());
    const auto left = [&] {
      const double busy = per_byte / share * bytes_of(floats[3]);
      return std::min(2 * (seconds[3] - busy - latency),
                      seconds[3] - busy * (buckets + 1) / (2 * buckets) - 2 * latency);
    };
    if (left() < 0) share = 1;
    network["all_reduce"] = "direct";
    network["backend_factor"] = share;
    network["overhead"]["all_reduce_seconds"] = std::max(0.0, left());
    result_["cost"]["bucket_bytes"] = Buckets::kMostElements * sizeof(float);
  }

  // By the direct all-reduce, over the busiest network card, or from a process of the only host.
  double vectors_over_a_link() const {
    const double n = crew_.size();
    if (crew_.hosts().size() == 1) return 2 * (n - 1) / n;
    double most = 0;
    for (const auto& ranks : crew_.hosts()) {
      const auto here = static_cast<double>(ranks.size());
      most = std::max(most, 2 * here * (n - here) / n);
    }
    return most;
  }

  CalibrationCrew& crew_;
  TimeShares shares_;              // of rank 0
  double alone_seconds_ = 0;       // of this process's gradients, as measured last
  std::vector<double> durations_;  // of all processes' ones, in rank 0
  json result_;
};

void calibrate_in(MpiRuntime& mpi, const std::string& order_file) {
  const auto order = CalibrationOrder::from_text(
      mpi.broadcast(mpi.rank() == 0 ? recipe_text(order_file, "order") : ""));
  const auto transport = mpi.connect(settings_from(order.settings).execution.mpi->transport);
  CalibrationCrew crew(*transport);
  HostsCalibration calibration(order, crew);
  json result;
  for (const int threads : order.threads) {
    std::unique_ptr<ComposedRun> run;
    crew.work([&] { run = compose(order.settings_with(threads), usable_cores(), mpi.rank()); });
    const auto& slow = run->settings.execution.slow_factors;
    const auto rank = static_cast<std::size_t>(mpi.rank());
    GradientTimer timer(*run, mpi.rank(), 0, slow.empty() ? 1 : slow[rank]);
    calibration.measure_gradients(*run, timer);
    if (threads == order.threads.back()) result = calibration.measure_rest(*run, timer);
  }
  if (mpi.rank() == 0) std::cout << result.dump() << "\n" << std::flush;
  transport->leave();
}

}  // namespace

Exit calibrate_mpi(const std::string& order_file, double start_seconds) {
  remove_left_segments();
  MpiRuntime& mpi = start_job(start_seconds);
  do_in_job(
      mpi, start_seconds, [&] { calibrate_in(mpi, order_file); }, false);
  finish_job(mpi);
  remove_left_segments();
  return Exit::ok;
}

}  // namespace acid
