# Looks for a CUDA toolkit, in PATH, $CUDA_PATH, $CUDA_HOME and /usr/local/cuda, and for NCCL beside
# it. Sets ACID_CUDA_FOUND, and ACID_NCCL_FOUND with the target acid_nccl_library. Without them the
# rest of acid builds. A GPU is needed only to run.
set(ACID_CUDA_FOUND FALSE)
set(ACID_NCCL_FOUND FALSE)
if(ACID_WITH_CUDA STREQUAL "AUTO" AND NOT EXISTS /dev/nvidiactl)
  acid_leave_out("device = \"cuda\" (acid-cuda.so): there is no GPU here; -DACID_WITH_CUDA=ON builds it "
    "for other machines")
  return()
elseif(NOT ACID_WITH_CUDA)
  acid_leave_out("device = \"cuda\" (acid-cuda.so): ACID_WITH_CUDA is off")
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(ACID_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda
    PATH_SUFFIXES bin DOC "The CUDA compiler")
  if(ACID_NVCC)
    set(ENV{CUDACXX} ${ACID_NVCC})  # for check_language, which tries it
  endif()
endif()
# Machine code for every generation of GPUs that the toolkit knows (each also runs on its later
# models), and the intermediate code of the last one for future generations.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES all-major)
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  acid_leave_out("device = \"cuda\" (acid-cuda.so): no CUDA toolkit was found")
  return()
endif()
if(CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)  # the first that knows C++20
  acid_leave_out("device = \"cuda\" (acid-cuda.so): CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old, "
    "12 is needed")
  return()
endif()
find_package(CUDAToolkit REQUIRED)
set(ACID_CUDA_FOUND TRUE)

find_path(NCCL_INCLUDE nccl.h HINTS ENV NCCL_HOME ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY nccl
  HINTS ENV NCCL_HOME ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
    ${CUDAToolkit_INCLUDE_DIRS}/..
  PATH_SUFFIXES lib lib64)
if(NCCL_INCLUDE AND NCCL_LIBRARY)
  add_library(acid_nccl_library INTERFACE)
  target_include_directories(acid_nccl_library SYSTEM INTERFACE ${NCCL_INCLUDE})
  target_link_libraries(acid_nccl_library INTERFACE ${NCCL_LIBRARY} CUDA::cudart_static)
  set(ACID_NCCL_FOUND TRUE)
else()
  acid_leave_out("exchanges between GPUs (acid-nccl.so): NCCL was not found (libnccl-dev), so they "
    "go through host memory")
endif()
