# The libraries from which acid is built. Everything that is missing is listed at once, at the end
# of the configuration, each with the packages that provide it.

# acid_find(PACKAGE DEBIAN SPACK [FIND_PACKAGE'S ARGUMENTS …]): find_package, but a missing package
# is only noted. DEBIAN is in scripts/packages.txt; SPACK is also the module's name on most
# clusters.
macro(acid_find package debian spack)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    acid_missing(${package} ${debian} ${spack})
  endif()
endmacro()

# acid_look_for_module(TARGET MODULE): sets TARGET_FOUND; makes PkgConfig::TARGET if it is found.
macro(acid_look_for_module target module)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(${target} QUIET IMPORTED_TARGET GLOBAL ${module})
  endif()
endmacro()

# acid_find_module(TARGET MODULE DEBIAN SPACK): as acid_find for modules of pkg-config, which become
# PkgConfig::TARGET.
macro(acid_find_module target module debian spack)
  acid_find(PkgConfig pkg-config pkgconf)
  acid_look_for_module(${target} ${module})
  if(NOT ${target}_FOUND)
    acid_missing(${module} ${debian} ${spack})
  endif()
endmacro()

# acid_link_torch(TARGET): links a target to LibTorch, Debian's or an official one.
function(acid_link_torch target)
  # LibTorch looks for its parts by name alone, and would take those of another LibTorch.
  foreach(folder IN ITEMS "${Torch_DIR}" "$ENV{Torch_DIR}")
    if(EXISTS ${folder}/../Caffe2/Caffe2Config.cmake)
      list(PREPEND CMAKE_PREFIX_PATH ${folder}/../../..)
    endif()
  endforeach()
  acid_find(Torch libtorch-dev py-torch)
  if(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    message(FATAL_ERROR "This LibTorch has the C++ ABI of before GCC 5: take the build for the "
      "\"cxx11 ABI\", or a release from 2.7 on.")
  endif()
  target_link_libraries(${target} PRIVATE ${TORCH_LIBRARIES})
  # PyTorch brings headers of a fmt of its own, which the library of the system does not fit.
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY)
  set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE torch)
endfunction()

# acid_find_header(FOLDER HEADER DEBIAN SPACK): as acid_find for a header without a package; FOLDER
# is set to the header's folder.
function(acid_find_header folder header debian spack)
  find_path(${folder} ${header} DOC "Where ${header} is")
  if(NOT ${folder})
    acid_missing(${header} ${debian} ${spack})
    set(${folder} "" PARENT_SCOPE)
  endif()
endfunction()

function(acid_missing what debian spack)
  set_property(GLOBAL APPEND PROPERTY ACID_MISSING "${what}|${debian}|${spack}")
endfunction()

# acid_leave_out(TEXT …): adds to the summary what this configuration leaves out, and why.
function(acid_leave_out)
  string(CONCAT text ${ARGN})
  set_property(GLOBAL APPEND PROPERTY ACID_LEFT_OUT "${text}")
endfunction()

# Pads to as many columns as the longest entry has.
function(acid_row out first second third)
  foreach(part first second third)
    string(SUBSTRING "${${part}}                        " 0 24 ${part})
  endforeach()
  string(STRIP "${third}" third)
  set(${out} "  ${first}${second}${third}\n" PARENT_SCOPE)
endfunction()

# acid_conclude(): ends a configuration that lacks something, with the list, which is also in
# missing.txt of the build folder, a Debian package a line. A complete configuration prints what it
# leaves out.
function(acid_conclude)
  get_property(missing GLOBAL PROPERTY ACID_MISSING)
  list(REMOVE_DUPLICATES missing)
  get_property(left_out GLOBAL PROPERTY ACID_LEFT_OUT)
  list(JOIN left_out "\n  " left_out)
  if(left_out)
    message(NOTICE "Left out of this build:\n  ${left_out}")
  endif()
  file(REMOVE ${PROJECT_BINARY_DIR}/missing.txt)
  if(NOT missing)
    return()
  endif()
  acid_row(table "missing" "Debian, Ubuntu" "Spack, modules")
  set(advice "")
  foreach(entry IN LISTS missing)
    string(REPLACE "|" ";" entry "${entry}")
    list(GET entry 0 what)
    list(GET entry 1 debian)
    list(GET entry 2 spack)
    acid_row(row ${what} ${debian} ${spack})
    string(APPEND table "${row}")
    list(APPEND packages ${debian})
    if(what STREQUAL "Torch")
      set(advice "  Without LibTorch: -DACID_WITH_TORCH=OFF builds all that analytic tasks need.\n")
    endif()
  endforeach()
  list(JOIN packages "\n" lines)
  file(WRITE ${PROJECT_BINARY_DIR}/missing.txt "${lines}\n")
  list(JOIN packages " " packages)
  message(FATAL_ERROR "This is all that is missing:\n\n${table}\n"
    "  As root: apt-get install --no-install-recommends ${packages}\n"
    "  As anyone else: scripts/bootstrap-user, which fetches them into your home.\n"
    "  Elsewhere installed: name the folders in CMAKE_PREFIX_PATH.\n${advice}")
endfunction()
