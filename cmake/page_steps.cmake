# The steps of cmake/page.cmake, each run by the build: cmake -DSTEP=… -P page_steps.cmake.
set(MISSING ${PAGE}/packages.missing)

function(must_run what)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${PAGE} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what} failed")
  endif()
endfunction()

# packages: makes node_modules as package-lock.json lists it. No scripts of packages run.
if(STEP STREQUAL "packages")
  file(REMOVE ${MISSING})
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json DESTINATION ${PAGE})
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error
      --fetch-retries=1 --fetch-retry-mintimeout=1000
    WORKING_DIRECTORY ${PAGE} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT result EQUAL 0)
    message(WARNING "npm could not fetch the report page's packages: reports get static charts "
      "only. To try again, remove ${PAGE}/packages.stamp and build.\n${said}")
    file(TOUCH ${MISSING})
  endif()
  file(TOUCH ${PAGE}/packages.stamp)

# bundle: makes page_script.cpp from the output of the compiler and the bundler.
elseif(STEP STREQUAL "bundle")
  file(REMOVE_RECURSE ${PAGE}/src ${PAGE}/test)
  file(COPY ${SOURCE}/src ${SOURCE}/test ${SOURCE}/tsconfig.json ${SOURCE}/build.mjs
    DESTINATION ${PAGE})
  if(EXISTS ${MISSING})
    configure_file(${EMPTY} ${PAGE}/page_script.cpp COPYONLY)
    file(TOUCH ${PAGE}/page_script.cpp)
    return()
  endif()
  must_run("Type-checking reports/page" ${NODE} node_modules/typescript/bin/tsc --noEmit)
  must_run("Bundling reports/page" ${NODE} build.mjs)
endif()
