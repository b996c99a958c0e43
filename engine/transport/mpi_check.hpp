#pragma once

#include <mpi.h>

#include <string>

#include "engine/base/error.hpp"

namespace acid {

inline std::string mpi_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fmt::format("error {}", code);
  return {text, static_cast<std::size_t>(length)};
}

/// Throws Error unless an MPI call, which `what` describes, went well.
inline void check_mpi(int code, const char* what) {
  if (code != MPI_SUCCESS)
    throw Error(fmt::format("MPI cannot {}: {}", what, mpi_error_text(code)));
}

}  // namespace acid
