#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace acid::cuda {

/// Throws Error: what could not be done, and CUDA's reason.
void check(cudaError_t status, const char* what);

/// "13.0" of 13000.
std::string version_text(int version);
/// How many devices there are: at least one, else Error says why none can be used and what to do.
int device_count();

/// Makes this the one device that the process uses. The same again is fine; another is an Error, as
/// is a device that is not there or that cannot share memory with the host.
void choose_device(int device);
/// The chosen device, and how many multiprocessors it has.
int chosen_device();
int multiprocessors();

/// Makes the chosen device the calling thread's. Costs nothing from the second time on.
void use_device();
/// Sleeps until everything that the calling thread has asked of its stream is done.
void wait_for_stream(const char* what);

/// Whether the host alone knows this address: no kernel may be given it.
bool is_plain_host_memory(const void* address);

/// kBounceBytes of the calling thread's that host and kernels reach: for results on their way to
/// memory that only the host does. Lives as long as the thread.
inline constexpr std::size_t kBounceBytes = std::size_t{1} << 20;
void* bounce_buffer();

}  // namespace acid::cuda
