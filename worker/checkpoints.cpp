#include "worker/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/base/digest.hpp"
#include "store/files.hpp"

namespace acid {
namespace {

constexpr double kSeldomSeconds = 30;
constexpr double kLargestShare = 0.02;  // of the time; used when the recipe does not set how often

// Returns the first eight bytes as a little-endian number, so that the store keeps their order.
std::uint64_t leading_bytes(const std::string& hex) {
  return __builtin_bswap64(std::stoull(hex.substr(0, 16), nullptr, 16));
}

template <class Visit>
void for_each_compared(const std::vector<StateVectors>& vectors, Visit visit) {
  for (const StateVectors& vector : vectors)
    if (vector.compared)
      for (const Segment& segment : vector.segments) visit(vector, segment);
}

}  // namespace

CutDigests digests_of(const std::vector<StateVectors>& vectors) {
  CutDigests digests;
  const std::size_t workers = vectors.front().values.size();
  for (std::size_t w = 0; w < workers; ++w) {
    digests.workers.push_back(sha256_hex(vectors.front().values[w]));
    auto& tensors = digests.tensors.emplace_back();
    for_each_compared(vectors, [&](const StateVectors& vector, const Segment& segment) {
      // A vector that the workers of a server share counts for each of these workers
      // (Method::server_of()).
      const std::span<const float> own = vector.values[w * vector.values.size() / workers];
      tensors.push_back(leading_bytes(sha256_hex(own.subspan(
          static_cast<std::size_t>(segment.offset), static_cast<std::size_t>(segment.size)))));
    });
  }
  return digests;
}

std::vector<std::string> compared_tensors(const std::vector<StateVectors>& vectors) {
  std::vector<std::string> names;
  for_each_compared(vectors, [&](const StateVectors& vector, const Segment& segment) {
    names.push_back(vector.name == "x" ? segment.name : vector.name + "/" + segment.name);
  });
  return names;
}

StoreCheckpoints::StoreCheckpoints(std::string store_folder, std::string run_id,
                                   std::int64_t attempt, const CheckpointSettings& settings,
                                   WatchedFiles& files, RunWriter& writer)
    : store_folder_(std::move(store_folder)),
      run_id_(std::move(run_id)),
      attempt_(attempt),
      files_(files),
      writer_(writer),
      keep_(settings.keep),
      every_time_(settings.every_time.value_or(0)),
      every_seconds_(settings.every_seconds) {
  schedule_next({}, 0);
}

void StoreCheckpoints::resumed_from(const CheckpointRow& row) {
  last_step_ = row.step;
  began_at_ = row.position.normalised_time;
  schedule_next(row.position, 0);
}

void StoreCheckpoints::schedule_next(const Position& position, double seconds_taken) {
  next_time_ = kNever;
  next_seconds_ = kNever;
  if (every_time_ > 0) {
    next_time_ = every_time_ * (std::floor(position.normalised_time / every_time_ + 1e-9) + 1);
  } else {
    const double seldom = std::max(kSeldomSeconds, seconds_taken / kLargestShare);
    next_seconds_ = clock_.seconds() + every_seconds_.value_or(seldom);
  }
}

// A checkpoint due at the very end is not needed; an earlier one can still be taken at the end.
std::int64_t StoreCheckpoints::skipped(const Position& end) const {
  if (every_time_ <= 0) return 0;
  const double first = std::floor(began_at_ / every_time_ + 1e-9) + 1;
  const double due = std::ceil(end.normalised_time / every_time_ - 1e-6) - first;
  return std::max<std::int64_t>(0, std::llround(due) - on_calendar_);
}

bool StoreCheckpoints::due(std::int64_t step, const Position& position) {
  if (has(step)) return false;
  if (next_time_ != kNever) return position.normalised_time >= next_time_;
  return clock_.seconds() >= next_seconds_;
}

void StoreCheckpoints::save(const Cut& cut) {
  const double began = SteadyClock().seconds();
  writer_.refuse_if_gone();
  files_.refuse_changed();
  const std::string folder = fmt::format("checkpoints/{}", run_id_);
  CheckpointRecord record;
  record.step = cut.step;
  record.position = cut.position;
  record.path = fmt::format("{}/{}-{:04}.safetensors", folder, attempt_, saved_ + 1);
  make_run_folder(store_folder_, run_id_);
  const AtomicFile::Written written = write_checkpoint(
      (std::filesystem::path(store_folder_) / record.path).string(),
      {.metadata = {{kLayoutKey, std::string(cut.layout)},
                    {"acid_run", run_id_},
                    {"gradients", std::to_string(cut.position.gradients)},
                    {"normalised_time", fmt::format("{}", cut.position.normalised_time)}},
       .vectors = cut.vectors,
       .state = cut.state});
  record.sha256 = written.sha256;
  record.bytes = written.bytes;
  CutDigests digests = digests_of(cut.vectors);
  record.worker_digests = std::move(digests.workers);
  record.tensor_digests = std::move(digests.tensors);
  for (const std::string& path : writer_.checkpoint(record, keep_)) try {
      remove_file(store_folder_, path);
    } catch (const StoreError&) {  // acid gc reports it again to a user who can mend it
    }
  if (next_time_ <= cut.position.normalised_time) ++on_calendar_;
  ++saved_;
  last_step_ = cut.step;
  schedule_next(cut.position, SteadyClock().seconds() - began);
}

}  // namespace acid
