#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <new>

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

constexpr std::size_t kMessageFloats[] = {1, 1 << 14, 1 << 18, 1 << 22};
constexpr std::size_t kReducedFloats[] = {1 << 14, 1 << 18, 1 << 22};

double bytes_of(std::size_t floats) { return static_cast<double>(floats * sizeof(float)); }

/// One process's part in the calibration of the hosts of a run.
class HostsCalibration {
 public:
  HostsCalibration(const CalibrationOrder& order, const ComposedRun& run, CalibrationCrew& crew)
      : order_(order), run_(run), crew_(crew), timer_(run, crew.rank(), 0) {}

  /// The result, in rank 0.
  json measure() {
    if (crew_.leads()) result_ = describe_calibration(run_);
    measure_gradients();
    json inside = measure_link("inside hosts", inside_partner());
    json between = measure_link("between hosts", between_partner());
    add_links(std::move(inside), std::move(between));
    if (crew_.size() > 1) measure_all_reduces();
    if (crew_.leads()) crew_.work([&] { result_["cost"] = measure_costs(run_, timer_); });
    crew_.meet();
    return std::move(result_);
  }

 private:
  // 1, 2, 4, …, and as many as each host has.
  std::vector<int> counts() const {
    int most = 1;
    std::vector<int> all;
    for (const auto& ranks : crew_.hosts()) {
      most = std::max(most, static_cast<int>(ranks.size()));
      all.push_back(static_cast<int>(ranks.size()));
    }
    for (const int count : worker_counts(most)) all.push_back(count);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void measure_gradients() {
    const std::vector<int> all = counts();
    const double each = order_.seconds / static_cast<double>(all.size());
    for (const int count : all) {
      if (crew_.leads())
        say_measuring(fmt::format("gradients of {} worker{} at once on each host", count,
                                  count == 1 ? "" : "s"));
      crew_.meet();
      std::vector<double> own;
      for (const auto& ranks : crew_.hosts()) {
        const auto at = std::ranges::find(ranks, crew_.rank()) - ranks.begin();
        if (std::ranges::count(ranks, crew_.rank()) > 0 && at < count &&
            ranks.size() >= count_of(count))
          crew_.work([&] { own = timer_.measure(each); });
      }
      if (!own.empty() && !crew_.leads()) crew_.report(own);
      if (crew_.leads()) collect(count, std::move(own));
    }
  }
  static std::size_t count_of(int count) { return static_cast<std::size_t>(count); }

  void collect(int count, std::vector<double> own) {
    for (std::size_t host = 0; host < crew_.hosts().size(); ++host) {
      const auto& ranks = crew_.hosts()[host];
      if (ranks.size() < count_of(count)) continue;
      std::vector<double> durations;
      for (int k = 0; k < count; ++k) {
        const int rank = ranks[static_cast<std::size_t>(k)];
        const std::vector<double> more = rank == 0 ? own : crew_.reported_by(rank);
        durations.insert(durations.end(), more.begin(), more.end());
      }
      json entry = gradients_entry(count, run_.spec.threads_per_worker, durations);
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
    if (crew_.leads()) say_measuring(fmt::format("messages {}", where));
    crew_.meet();
    std::vector<double> seconds;
    if (crew_.leads() || crew_.rank() == partner)
      for (const std::size_t floats : kMessageFloats) {
        seconds.push_back(crew_.message_seconds(partner, floats));
        if (crew_.leads())
          result_["network"]["messages"].push_back({{"inside", partner == inside_partner()},
                                                    {"bytes", floats * sizeof(float)},
                                                    {"seconds", seconds.back()}});
      }
    if (!crew_.leads()) return {};
    const double more = seconds[3] - seconds[2];
    json link{{"latency_seconds", seconds[0]}};
    if (more > 0)
      link["bandwidth_bytes_per_second"] =
          (bytes_of(kMessageFloats[3]) - bytes_of(kMessageFloats[2])) / more;
    return link;
  }

  void add_links(json inside, json between) {
    if (!crew_.leads()) return;
    if (!inside.is_null()) result_["network"]["inside"] = std::move(inside);
    if (between.is_null()) return;
    result_["network"].update(between);
    result_["workers_per_node"] = crew_.hosts().front().size();
  }

  void measure_all_reduces() {
    if (crew_.leads()) say_measuring(fmt::format("all-reduces of {} processes", crew_.size()));
    double seconds = 0;
    for (const std::size_t floats : kReducedFloats) {
      seconds = crew_.all_reduce_seconds(floats);
      if (crew_.leads())
        result_["network"]["all_reduces"].push_back(
            {{"workers", crew_.size()}, {"bytes", floats * sizeof(float)}, {"seconds", seconds}});
    }
    if (crew_.leads()) add_backend_factor(seconds);
  }

  // The share of the bandwidth by which a ring would take so long for the largest vector.
  void add_backend_factor(double seconds) {
    json& network = result_["network"];
    const json& link = crew_.hosts().size() > 1 ? network : network.at("inside");
    if (!link.contains("bandwidth_bytes_per_second")) return;
    const int n = crew_.size();
    const double latencies = 2 * (n - 1) * link.at("latency_seconds").get<double>();
    const double transfer = 2.0 * (n - 1) / n * bytes_of(kReducedFloats[2]) /
                            link.at("bandwidth_bytes_per_second").get<double>();
    constexpr double kLeast = 1e-3;
    if (seconds > latencies)
      network["backend_factor"] = std::clamp(transfer / (seconds - latencies), kLeast, 1.0);
  }

  const CalibrationOrder& order_;
  const ComposedRun& run_;
  CalibrationCrew& crew_;
  GradientTimer timer_;
  json result_;
};

void calibrate_in(MpiRuntime& mpi, const std::string& order_file) {
  const auto order = CalibrationOrder::from_text(
      mpi.broadcast(mpi.rank() == 0 ? recipe_text(order_file, "order") : ""));
  const auto run = compose(settings_from(order.settings), usable_cores(), mpi.rank());
  const auto transport = mpi.connect(run->settings.execution.mpi->transport);
  CalibrationCrew crew(*transport);
  const json result = HostsCalibration(order, *run, crew).measure();
  if (mpi.rank() == 0) std::cout << result.dump() << "\n" << std::flush;
  transport->leave();
}

}  // namespace

Exit calibrate_mpi(const std::string& order_file, double start_seconds) {
  remove_left_segments();
  MpiRuntime& mpi = start_job(start_seconds);
  try {
    assemble_job(mpi, start_seconds);
    calibrate_in(mpi, order_file);
  } catch (const LostProcess& loss) {
    give_up(mpi, loss, false);
  } catch (const Error& error) {
    give_up(mpi, error.what(), error.code());
  } catch (const std::bad_alloc&) {
    give_up(mpi, "out of memory; place fewer workers on a host, or use a smaller model or batch",
            Exit::run_failed);
  } catch (const std::exception& error) {
    give_up(mpi, fmt::format("this is a bug in acid: {}", error.what()), Exit::run_failed);
  }
  finish_job(mpi);
  remove_left_segments();
  return Exit::ok;
}

}  // namespace acid
