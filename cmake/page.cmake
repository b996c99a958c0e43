# acid_page(OUT): the C++ source that holds the report page's own code, made from reports/page with
# npm; the source without code if ACID_WITH_PAGE is off. ACID_PAGE_FOLDER is then the folder with
# node_modules, or else empty.
#
# All steps happen in a copy below the build folder, node_modules included. A package that cannot be
# fetched leaves the report with its static charts, and the build goes on; an error in acid's own
# code ends the build.
function(acid_page out)
  set(${out} ${PROJECT_SOURCE_DIR}/reports/html/page_script.cpp PARENT_SCOPE)
  set(ACID_PAGE_FOLDER "" CACHE INTERNAL "Where the report page was bundled")
  if(NOT ACID_WITH_PAGE)
    return()
  endif()
  find_program(ACID_NPM npm)
  find_program(ACID_NODE NAMES node nodejs)
  if(NOT ACID_NPM OR NOT ACID_NODE)
    acid_leave_out("zoomable charts in reports: npm was not found")
    return()
  endif()
  set(source ${PROJECT_SOURCE_DIR}/reports/page)
  set(page ${PROJECT_BINARY_DIR}/page)
  file(GLOB_RECURSE code CONFIGURE_DEPENDS ${source}/src/* ${source}/test/*)
  set(packages ${source}/package.json ${source}/package-lock.json)
  set(script ${PROJECT_SOURCE_DIR}/cmake/page_steps.cmake)
  set(arguments -DSOURCE=${source} -DPAGE=${page} -DNPM=${ACID_NPM} -DNODE=${ACID_NODE}
    -DEMPTY=${PROJECT_SOURCE_DIR}/reports/html/page_script.cpp)
  add_custom_command(OUTPUT ${page}/packages.stamp
    COMMAND ${CMAKE_COMMAND} ${arguments} -DSTEP=packages -P ${script}
    DEPENDS ${packages} ${script} COMMENT "Fetching the packages of the report page" VERBATIM)
  add_custom_command(OUTPUT ${page}/page_script.cpp
    COMMAND ${CMAKE_COMMAND} ${arguments} -DSTEP=bundle -P ${script}
    DEPENDS ${page}/packages.stamp ${source}/tsconfig.json ${source}/build.mjs ${code}
    COMMENT "Checking and bundling the report page" VERBATIM)
  set(ACID_PAGE_FOLDER ${page} CACHE INTERNAL "")
  set(${out} ${page}/page_script.cpp PARENT_SCOPE)
endfunction()
