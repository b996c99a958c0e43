#include "engine/run/ensemble.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/recorder/event.hpp"
#include "engine/run/mean_of_rows.hpp"
#include "engine/worker/host_view.hpp"

namespace acid {
namespace {

void find_not_finite(MeanModel& mean, std::size_t d, std::span<const std::int64_t> gradients,
                     const RowsAt& rows_at) {
  const std::size_t n = gradients.size(), block = block_size(n);
  std::vector<const float*> rows(n);
  std::size_t found = n;  // the lowest so far
  for (std::size_t first = 0; first < d; first += block) {
    const std::size_t size = std::min(block, d - first);
    rows_at(first, size, std::span(rows));
    for (std::size_t i = 0; i < found; ++i)
      if (!std::all_of(rows[i], rows[i] + size, [](float value) { return std::isfinite(value); }))
        found = i;
  }
  if (found == n) return;
  mean.not_finite = static_cast<int>(found);
  mean.not_finite_gradients = gradients[found];
}

// The messages that each worker is about to hear from its partner.
class PendingExchanges {
 public:
  PendingExchanges(std::span<const ExchangeInFlight> in_flight, double t, std::size_t workers)
      : offers_(2 * in_flight.size()), heard_(workers) {
    for (std::size_t k = 0; k < in_flight.size(); ++k) {
      const ExchangeInFlight& one = in_flight[k];
      add(2 * k, one.i, one.offer_i, one.offer_j, t - one.offered);
      add(2 * k + 1, one.j, one.offer_j, one.offer_i, t - one.offered);
    }
  }
  const Heard<float>* of(std::size_t worker) const {
    return heard_[worker].sources.empty() ? nullptr : &heard_[worker];
  }

 private:
  void add(std::size_t index, int worker, const float* own, const float* partner, double late) {
    offers_[index] = {{{own, 0}, {partner, 0.5}}};
    heard_[static_cast<std::size_t>(worker)] = {.sources = offers_[index], .late = late};
  }

  std::vector<std::array<kernels::Weighted<float>, 2>> offers_;
  std::vector<Heard<float>> heard_;
};

// The elements of all workers that are mixed at once on a device for their distance: whole parts.
// None where events are kept: their fingerprints need every vector on the host.
std::size_t room_to_spread(const RunSpec& spec, const WorkerSettings& settings) {
  constexpr std::size_t kMost = 1u << 24, kPart = kernels::kSpreadPart;
  if (spec.keep_events || settings.backend->kernels<float>().spread == nullptr) return 0;
  const auto workers = static_cast<std::size_t>(spec.workers);
  const std::size_t parts = (settings.dimension + kPart - 1) / kPart;
  return workers * kPart * std::clamp<std::size_t>(kMost / workers / kPart, 1, parts);
}

// Mixes as much of n workers as `room` holds, and takes the distance of that, until all is done.
template <class Read>
MeanModel spread_on_device(std::size_t n, const WorkerSettings& settings, Arena<float>& room,
                           const Read& read) {
  const std::size_t part = kernels::kSpreadPart, most = room.size() / n / part * part;
  const auto mixed = [&](std::size_t first, std::size_t size, std::span<const float*> rows) {
    for (std::size_t i = 0; i < n; ++i) {
      float* const row = room.data() + i * most;
      read(i, first, std::span(row, size));
      rows[i] = row;
    }
  };
  return spread_of_rows(n, settings.dimension, most, *settings.backend, mixed);
}

std::vector<float> copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

// As in MeanModel::buffers.
std::vector<std::vector<float>> buffers_of_mean(std::span<const std::span<const float>> buffers,
                                                bool average) {
  if (!average && !buffers[0].empty()) {
    std::vector<std::vector<float>> own;
    for (const std::span<const float> each : buffers) own.push_back(copy_of(each));
    return own;
  }
  std::vector<float> mean(buffers[0].size());
  for (std::size_t k = 0; k < mean.size(); ++k) {
    double total = 0;
    for (const std::span<const float> own : buffers) total += own[k];
    mean[k] = static_cast<float>(total / static_cast<double>(buffers.size()));
  }
  return {mean};
}

}  // namespace

double RunSpec::backlog_limit(int worker) const {
  return max_backlog * std::max(1.0, topology->worker_rate(worker, method.rate));
}

WorkerSettings worker_settings(const RunSpec& spec, const Objective& objective, bool gradients) {
  require_schedule_fits(spec.method, *spec.topology);
  require_dimension_fits(spec.method, objective.dimension());
  WorkerSettings settings;
  settings.dimension = objective.dimension();
  settings.buffer_size = objective.buffer_size();
  settings.follow(spec.method.rules);
  const Message message = spec.method.message();
  const bool is_one_vector = message.vectors == 1 && message.scalars == 0;
  ACID_ASSERT(!spec.method.reduces_gradients || (spec.method.peers == Peers::all && is_one_vector),
              "{} reduces gradients, but not those of all workers", spec.method.kind);
  settings.optimizer = spec.optimizer;
  settings.backend = spec.backend;
  settings.threads = spec.threads_per_worker;
  settings.gradients = gradients;
  settings.snapshots = spec.method.is_asynchronous() || !spec.method.rules.floats->point_is_x();
  settings.decay = decay_ranges(spec.optimizer, objective.segments(), settings.dimension);
  settings.matrices = matrix_ranges(spec.optimizer, objective.segments());
  for (int w = 0; w < spec.workers; ++w)
    settings.degrees.push_back(spec.topology->neighbour_count(w));
  settings.codec_seed = spec.seeds.derived(Purpose::dither);
  settings.planned_rate = [schedule = spec.schedule, budget = spec.budget,
                           n = spec.workers](std::int64_t number) {
    return planned_rate(schedule, budget, n, number);
  };
  return settings;
}

Ensemble::Ensemble(const RunSpec& spec, Objective& objective, bool gradients)
    : settings_(worker_settings(spec, objective, gradients)),
      segments_(objective.segments()),
      buffer_segments_(objective.buffer_segments()),
      average_buffers_(spec.average_buffers),
      travelling_(spec.travelling(settings_.dimension)),
      memory_(settings_, static_cast<std::size_t>(spec.workers)),
      spread_(room_to_spread(spec, settings_), *settings_.backend) {
  workers_.reserve(static_cast<std::size_t>(spec.workers));
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  std::vector<std::vector<float>> starts;
  for (int i = 0; i < spec.workers; ++i) {
    workers_.emplace_back(settings_, memory_, static_cast<std::size_t>(i),
                          static_cast<std::uint32_t>(i));
    objective.start(i, x0, buffers);
    workers_.back().start(x0, buffers);
    if (spec.method.server) starts.emplace_back(x0);
  }
  if (!spec.method.server) return;
  const auto rows = [&](std::size_t first, std::size_t, std::span<const float*> out) {
    for (std::size_t i = 0; i < starts.size(); ++i) out[i] = starts[i].data() + first;
  };
  servers_ = std::make_unique<Servers>(spec.method, settings_, spec.workers,
                                       mean_of_rows(starts.size(), x0.size(), true, rows).x);
}

double Ensemble::latest_event() const {
  double latest = 0;
  for (const Worker& worker : workers_) latest = std::max(latest, worker.last_event());
  return servers_ ? std::max(latest, servers_->latest_event()) : latest;
}

std::int64_t Ensemble::extra_bytes() const {
  if (!settings_.rules.floats->extra_floats()) return 0;
  std::int64_t bytes = 0;
  for (const Worker& worker : workers_) bytes += worker.extra_bytes();
  if (travelling_ == settings_.dimension) return bytes;
  return std::llround(static_cast<double>(bytes) * static_cast<double>(travelling_) /
                      static_cast<double>(settings_.dimension));
}

std::vector<StateVectors> Ensemble::vectors() const {
  std::vector<StateVectors> list;
  for (const Worker& worker : workers_) {
    std::size_t index = 0;
    worker.for_each_vector([&](std::string_view name, std::span<const float> vector) {
      if (vector.empty()) return;
      if (index == list.size())
        list.push_back({std::string(name),
                        name == "buffers" ? buffer_segments_ : segments_,
                        {},
                        name != "snapshot"});
      list[index++].values.push_back(vector);
    });
  }
  if (servers_)
    servers_->for_each_vector([&](const std::string& name, std::span<const float> vector) {
      const auto same = std::ranges::find(list, name, &StateVectors::name);
      if (same == list.end())
        list.push_back({name, segments_, {vector}});
      else
        same->values.push_back(vector);
    });
  if (servers_) servers_->messages().add_to(list);
  return list;
}

void Ensemble::restore(const CheckpointFile& file) {
  for (const StateVectors& vectors : this->vectors()) {
    std::vector<std::span<float>> out;
    for (const std::span<const float> own : vectors.values)
      out.emplace_back(const_cast<float*>(own.data()), own.size());
    file.read(vectors.name, vectors.segments, out);
  }
  for (Worker& worker : workers_) worker.restart_gradient();
}

void MeanModel::name_members(const std::vector<int>& workers_in_order) {
  members = workers_in_order;
  if (not_finite >= 0) not_finite = members[static_cast<std::size_t>(not_finite)];
}

MeanModel Ensemble::mean_at(double t, std::span<const ExchangeInFlight> in_flight,
                            const Look& look) const {
  std::vector<int> members;
  for (int w = 0; w < size(); ++w)
    if (look.absent.empty() || !look.absent[static_cast<std::size_t>(w)]) members.push_back(w);
  ACID_ASSERT(in_flight.empty() || members.size() == workers_.size(),
              "exchanges in flight and {} workers of {}", members.size(), size());
  const auto member = [&](std::size_t k) -> const Worker& { return worker(members[k]); };
  const std::size_t n = members.size(), d = settings_.dimension, block = block_size(n);
  const PendingExchanges pending(in_flight, t, n);
  if (spread_.size() > 0 && !look.mean && !look.fingerprints && !look.workers) {
    const auto read = [&](std::size_t i, std::size_t first, std::span<float> out) {
      member(i).read_at(t, first, out, pending.of(i));
    };
    MeanModel mean = spread_on_device(n, settings_, spread_, read);
    if (n < workers_.size()) mean.name_members(members);
    if (std::isfinite(mean.consensus_distance)) return mean;
  }
  // Device memory is read in larger chunks, because each access is expensive.
  constexpr std::size_t kValuesAtOnce = 1u << 22;
  std::size_t blocks_at_once = 1;
  if (!settings_.backend->is_host_memory())
    blocks_at_once = std::clamp<std::size_t>(kValuesAtOnce / n / block, 1, (d + block - 1) / block);
  const std::size_t chunk = blocks_at_once * block;
  std::vector<float> values(n * chunk);
  std::vector<FullFingerprint> taken(look.fingerprints ? n : 0, FullFingerprint(d));
  std::vector<MeanModel::OwnModel> models(look.workers ? n : 0);
  const auto copy_of_members = [&](std::size_t first, std::span<const float*> rows, bool heard) {
    for (std::size_t i = 0; i < n; ++i) {
      float* const row = values.data() + i * chunk;
      if (first % chunk == 0)
        member(i).read_at(t, first, std::span(row, std::min(chunk, d - first)),
                          heard ? pending.of(i) : nullptr);
      rows[i] = row + first % chunk;
    }
  };
  const auto copy = [&](std::size_t first, std::size_t, std::span<const float*> rows) {
    copy_of_members(first, rows, false);
  };
  const auto copy_exchanged = [&](std::size_t first, std::size_t size,
                                  std::span<const float*> rows) {
    copy_of_members(first, rows, true);
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (first % chunk == 0)
        taken[i].add(
            HostView(*settings_.backend, member(i).x().subspan(first, std::min(chunk, d - first)))
                .values());
    for (std::size_t i = 0; i < models.size(); ++i)
      models[i].x.insert(models[i].x.end(), rows[i], rows[i] + size);
  };
  std::vector<std::span<const float>> buffers;
  std::vector<std::int64_t> gradients;
  for (std::size_t i = 0; i < n; ++i) {
    buffers.push_back(member(i).buffers());
    gradients.push_back(member(i).gradients());
  }
  MeanModel mean = mean_of_rows(n, settings_.dimension, look.mean && !servers_, copy_exchanged);
  if (!std::isfinite(mean.consensus_distance))
    find_not_finite(mean, settings_.dimension, gradients, copy);
  if (look.mean) mean.buffers = buffers_of_mean(buffers, average_buffers_);
  for (const FullFingerprint& one : taken) mean.fingerprints.push_back(one.value());
  for (std::size_t i = 0; i < models.size(); ++i) models[i].buffers = copy_of(buffers[i]);
  mean.workers = std::move(models);
  if (n < workers_.size()) mean.name_members(members);
  if (servers_ && look.mean) {
    mean.x.resize(d);
    servers_->model().read_at(t, 0, mean.x);
  }
  return mean;
}

MeanModel mean_of(std::span<const std::span<const float>> x,
                  std::span<const std::span<const float>> buffers,
                  std::span<const std::int64_t> gradients, bool average_buffers, const Look& look) {
  ACID_ASSERT(!x.empty() && buffers.size() == x.size() && gradients.size() == x.size(),
              "the mean of {} vectors, {} buffers and {} numbers of gradients", x.size(),
              buffers.size(), gradients.size());
  const auto point = [&](std::size_t first, std::size_t, std::span<const float*> rows) {
    for (std::size_t i = 0; i < x.size(); ++i) rows[i] = x[i].data() + first;
  };
  MeanModel mean = mean_of_rows(x.size(), x[0].size(), look.mean, point);
  if (!std::isfinite(mean.consensus_distance)) find_not_finite(mean, x[0].size(), gradients, point);
  if (look.mean) mean.buffers = buffers_of_mean(buffers, average_buffers);
  for (std::size_t i = 0; look.workers && i < x.size(); ++i)
    mean.workers.push_back({copy_of(x[i]), copy_of(buffers[i])});
  return mean;
}

Evaluation evaluate(Objective& objective, EvaluationSet set, std::span<const float> x,
                    std::span<const float> buffers, const ParallelFor& parallel_for) {
  std::vector<PartialEvaluation> parts(static_cast<std::size_t>(objective.evaluation_chunks(set)));
  parallel_for(static_cast<int>(parts.size()), [&](int lane, int chunk) {
    parts[static_cast<std::size_t>(chunk)] = objective.evaluate(lane, set, chunk, x, buffers);
  });
  PartialEvaluation total;
  total.named.resize(objective.evaluated_names().size());
  for (const PartialEvaluation& part : parts) {
    total.loss_sum += part.loss_sum;
    total.correct += part.correct;
    total.count += part.count;
    for (std::size_t k = 0; k < total.named.size(); ++k) total.named[k] += part.named.at(k);
  }
  const auto count = static_cast<double>(total.count);
  for (double& sum : total.named) sum /= count;
  return {.loss = total.loss_sum / count,
          .accuracy = objective.has_accuracy() ? static_cast<double>(total.correct) / count
                                               : std::numeric_limits<double>::quiet_NaN(),
          .named = std::move(total.named)};
}

Evaluation evaluate(Objective& objective, EvaluationSet set, const MeanModel& mean,
                    const ParallelFor& parallel_for) {
  Evaluation average;
  const auto count = static_cast<double>(mean.buffers.size());
  for (const std::vector<float>& buffers : mean.buffers) {
    const Evaluation one = evaluate(objective, set, mean.x, buffers, parallel_for);
    average.loss += one.loss;
    average.accuracy += one.accuracy;
    average.named.resize(one.named.size());
    for (std::size_t k = 0; k < one.named.size(); ++k) average.named[k] += one.named[k];
  }
  average.loss /= count;
  average.accuracy /= count;
  for (double& sum : average.named) sum /= count;
  return average;
}

ParallelFor sequential_for(int lane) {
  return [lane](int count, const std::function<void(int, int)>& body) {
    for (int index = 0; index < count; ++index) body(lane, index);
  };
}

}  // namespace acid
