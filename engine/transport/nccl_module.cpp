#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/transport/device_link.hpp"

namespace acid {
namespace {

std::string version_of(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(fmt::format("CUDA cannot {}: {}", what, cudaGetErrorString(status)));
}

// The library's last error message on this communicator says more than its error code.
std::string reason_of(ncclResult_t result, ncclComm_t communicator) {
  const char* const detail = ncclGetLastError(communicator);
  const bool silent = detail == nullptr || *detail == '\0';
  return silent ? ncclGetErrorString(result)
                : fmt::format("{} ({})", ncclGetErrorString(result), detail);
}

/// One communicator of all processes. It never blocks the calling thread: results are polled.
class NcclLink final : public DeviceLink {
 public:
  NcclLink(const std::string& id, int device, int rank, std::vector<ProcessPlace> places)
      : device_(device), places_(std::move(places)) {
    use_device();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
    check_cuda(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming), "make an event");
    ncclUniqueId unique;
    ACID_ASSERT(id.size() == sizeof unique, "an id of {} bytes", id.size());
    std::memcpy(&unique, id.data(), sizeof unique);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(
        &communicator_, static_cast<int>(places_.size()), unique, rank, &config);
    try {
      await_connection(result);
    } catch (...) {
      close();
      throw;
    }
  }
  ~NcclLink() override { close(); }
  NcclLink(const NcclLink&) = delete;
  NcclLink& operator=(const NcclLink&) = delete;

  void swap(int peer, std::span<const float> own, std::span<float> partner) override {
    ACID_ASSERT(stage_ == Stage::idle && own.size() == partner.size(),
                "a swap of {} floats for {} with {}, at stage {}", own.size(), partner.size(), peer,
                static_cast<int>(stage_));
    use_device();
    peer_ = peer;
    stage_ = Stage::being_enqueued;
    require(ncclGroupStart());
    const ncclResult_t sent =
        ncclSend(own.data(), own.size(), ncclFloat, peer, communicator_, stream_);
    const ncclResult_t received =
        ncclRecv(partner.data(), partner.size(), ncclFloat, peer, communicator_, stream_);
    const ncclResult_t ended = ncclGroupEnd();  // always, since abort() waits for it
    for (const ncclResult_t result : {sent, received, ended}) require(result);
  }

  bool done() override {
    if (stage_ == Stage::idle) return true;
    use_device();
    ncclResult_t state = ncclSuccess;
    require(ncclCommGetAsyncError(communicator_, &state));
    require(state);
    if (state == ncclInProgress) return false;
    if (stage_ == Stage::being_enqueued) {
      check_cuda(cudaEventRecord(arrived_, stream_), "mark the end of a swap");
      stage_ = Stage::on_its_way;
    }
    const cudaError_t status = cudaEventQuery(arrived_);
    if (status == cudaErrorNotReady) return false;
    check_cuda(status, "swap vectors");
    stage_ = Stage::idle;
    return true;
  }

  void abort() noexcept override {
    // A kernel of the library may wait on the device for a peer that is gone.
    if (communicator_ != nullptr) ncclCommAbort(std::exchange(communicator_, nullptr));
    if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  }

 private:
  enum class Stage { idle, being_enqueued, on_its_way };

  void use_device() { check_cuda(cudaSetDevice(device_), "use the device"); }

  // Only errors of the network are the peer's; all others are from here.
  void require(ncclResult_t result) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    const std::string reason = reason_of(result, communicator_);
    if (result == ncclRemoteError || result == ncclSystemError)
      throw LostProcess(places_[static_cast<std::size_t>(peer_)],
                        fmt::format("NCCL cannot swap vectors with it: {}", reason));
    throw Error(fmt::format("NCCL cannot swap vectors with {}: {}",
                            places_[static_cast<std::size_t>(peer_)].name(), reason));
  }

  void await_connection(ncclResult_t result) {
    while (result == ncclInProgress) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (ncclCommGetAsyncError(communicator_, &result) != ncclSuccess) break;
    }
    if (result != ncclSuccess)
      throw Error(fmt::format(
          "NCCL cannot connect the GPUs of the processes: {}; NCCL_DEBUG=INFO tells more, and "
          "ACID_NCCL=off exchanges through host memory",
          reason_of(result, communicator_)));
  }

  void close() {
    abort();
    if (arrived_ != nullptr) cudaEventDestroy(arrived_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    arrived_ = nullptr;
    stream_ = nullptr;
  }

  const int device_;
  const std::vector<ProcessPlace> places_;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t arrived_ = nullptr;
  Stage stage_ = Stage::idle;
  int peer_ = 0;
};

class LoadedNccl final : public NcclRuntime {
 public:
  std::string version() const override {
    int code = 0;
    ncclGetVersion(&code);
    return version_of(code);
  }
  std::string new_id() const override {
    ncclUniqueId id;
    if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess)
      throw Error(fmt::format("NCCL cannot begin: {}", reason_of(result, nullptr)));
    return {reinterpret_cast<const char*>(&id), sizeof id};
  }
  std::unique_ptr<DeviceLink> connect(const std::string& id, int device, int rank,
                                      std::vector<ProcessPlace> places) const override {
    return std::make_unique<NcclLink>(id, device, rank, std::move(places));
  }
};

}  // namespace
}  // namespace acid

/// The module's only entry point; see load_nccl_runtime().
extern "C" const acid::NcclRuntime* acid_nccl_runtime() {
  static const acid::LoadedNccl runtime;
  return &runtime;
}
