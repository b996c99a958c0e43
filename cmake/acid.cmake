# Settings shared by all targets. INTERFACE targets, so nothing global is changed.
add_library(acid_flags INTERFACE)
target_compile_features(acid_flags INTERFACE cxx_std_20)
# Contraction off: the bits of a run must not depend on whether the compiler fused a*b+c. g++ takes
# each file of a unity build for a header, in which an anonymous namespace is a warning, and takes
# members of optional and map that their destructors never read for uninitialised.
target_compile_options(acid_flags INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;-Wno-maybe-uninitialized>
  $<$<BOOL:${ACID_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Werror=thread-safety>)
# A build id tells which binary an attempt ran: resuming with another one is refused.
target_link_options(acid_flags INTERFACE LINKER:--build-id=sha1)
target_include_directories(acid_flags INTERFACE ${PROJECT_SOURCE_DIR})
# Sanitizer builds use clang, and GNU's linker would take a seventh of such a build.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld ACID_LLD)
  target_link_options(acid_flags INTERFACE $<$<BOOL:${ACID_LLD}>:-fuse-ld=lld>)
endif()

# For code that handles text rather than numbers: with little optimisation it compiles in half the
# time.
function(acid_unhurried target)
  target_compile_options(${target} PRIVATE $<IF:$<CONFIG:Debug>,-O0,-O1>)
endfunction()

# acid_layer(NAME [UNHURRIED] SOURCES … DEPENDS … PRIVATE_DEPENDS …): this folder's part of the static
# library acid_NAME. Folders that are used together share one, because every library costs a build its
# headers once more; which folder may include which is tests/tidy's to say.
function(acid_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNHURRIED" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  if(NOT TARGET acid_${name})
    add_library(acid_${name} STATIC)
    set_target_properties(acid_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(acid_${name} PUBLIC acid_flags)
    if(arg_UNHURRIED)
      acid_unhurried(acid_${name})
    endif()
  endif()
  target_sources(acid_${name} PRIVATE ${arg_SOURCES})
  list(REMOVE_ITEM arg_DEPENDS acid_${name})
  target_link_libraries(acid_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
endfunction()

# acid_module(TARGET FILE): a library that the programs load when they need it, built and installed
# beside them.
function(acid_module target file)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${file}
    PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    INSTALL_RPATH_USE_LINK_PATH ON)
  add_dependencies(acid_programs ${target})
  install(TARGETS ${target} LIBRARY DESTINATION bin)
endfunction()

# acid_catalog(OUT MACRO): the source files named by this folder's catalog.inc, whose lines read
# MACRO(file_stem, …). The catalog is the only list of its kind; C++ includes the same file.
function(acid_catalog out macro)
  set(catalog ${CMAKE_CURRENT_SOURCE_DIR}/catalog.inc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalog})
  file(STRINGS ${catalog} lines REGEX "^${macro}\\(")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^${macro}\\(([a-z0-9_]+).*" "\\1.cpp" source "${line}")
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      list(APPEND sources ${source})
    endif()
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# acid_texts(OUT FOLDER TYPE FUNCTION HEADER [FILE]): a source with the texts of FOLDER/*.toml, or of
# FOLDER/*/FILE, which are named by their folders and hold what `claims` names; FUNCTION of HEADER
# returns them as TYPEs, { name, text }.
function(acid_texts out folder type function header)
  if(ARGC GREATER 5)
    set(pattern */${ARGV5})
  else()
    set(pattern *.toml)
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${pattern})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${folder}.cpp)
  set(texts "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    set(named ${file})
    if(ARGC GREATER 5)
      get_filename_component(named ${file} DIRECTORY)
    endif()
    get_filename_component(name ${named} NAME_WE)
    string(REPLACE "_" "-" name ${name})
    file(READ ${file} text)
    if(text MATCHES "\nclaims = \"([^\"]+)\"\n")  # one file then, with the claims in it
      set(line "${CMAKE_MATCH_0}")
      get_filename_component(claims ${file} DIRECTORY)
      set(claims ${claims}/${CMAKE_MATCH_1})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${claims})
      string(REPLACE "${line}" "\n" text "${text}")
      file(READ ${claims} claims)
      string(APPEND text "\n${claims}")
    endif()
    string(APPEND texts "    ${type}{\"${name}\", R\"text(${text})text\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${source} CONTENT "// Made from ${folder}/${pattern}.
#include <array>

#include \"${header}\"

namespace acid {
std::span<const ${type}> ${function}() {
  static constexpr std::array kTexts = {
${texts}};
  return kTexts;
}
}  // namespace acid
" @ONLY)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
