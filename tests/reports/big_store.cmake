# acid_big_store writes a store of any size, for measuring: not a test. acid-bench and tests of the
# page start it; whichever is built includes this.
include_guard(GLOBAL)
add_executable(acid_big_store ${CMAKE_CURRENT_LIST_DIR}/big_store.cpp
  ${CMAKE_CURRENT_LIST_DIR}/synthetic.cpp)
target_link_libraries(acid_big_store PRIVATE acid_flags acid_reports acid_store acid_topology)
