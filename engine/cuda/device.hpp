#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace acid::cuda {

/// Throws Error: what could not be done, and CUDA's reason.
void check(cudaError_t status, const char* what);

/// A version as text: "13.0" for 13000.
std::string version_text(int version);
/// The number of devices, at least one; otherwise Error says why none can be used and what to do.
int device_count();

/// Makes this the one device that the process uses. Choosing the same device again is fine. Another
/// device is an Error, as is one that does not exist or cannot share memory with the host.
void choose_device(int device);
/// The chosen device, and how many multiprocessors it has.
int chosen_device();
int multiprocessors();

/// Makes the chosen device the calling thread's. Costs nothing from the second time on.
void use_device();
/// Sleeps until the calling thread's stream has done all its work.
void wait_for_stream(const char* what);

/// Whether only the host can use this address: then no kernel may get it.
bool is_plain_host_memory(const void* address);

/// A buffer of kBounceBytes for the calling thread, which host and kernels can use: for results on
/// their way to memory that only the host can use. Lives as long as the thread.
inline constexpr std::size_t kBounceBytes = std::size_t{1} << 20;
void* bounce_buffer();

}  // namespace acid::cuda
