# SPDX-License-Identifier: Apache-2.0
# The simulator (tests/sim) and its mutants.

set(PR_SIM_ACTORS outbox-relay scheduler broker notifier circuit-breaker dead-letter)

# A program of the simulator's objects and the actors' libraries. Objects come before libraries: what tests/sim defines
# (pr_db_*, pr_socket_*, pr_loop_* ...) is never taken from lib/. More sources: files that stand in for a library's own.
function(pr_sim_program name)
  add_executable(${name} $<TARGET_OBJECTS:sim_objects> ${ARGN})
  pr_common(${name})
  foreach(actor ${PR_SIM_ACTORS})
    target_link_libraries(${name} PRIVATE postrider-${actor}-lib)
  endforeach()
  target_link_libraries(${name} PRIVATE pr_worker pr_actor pr_core pr_sign pr_sql pr_http PkgConfig::JANSSON)
endfunction()

# Every tests/sim/mutants/NAME.sed is one fault, planted in a copy of the file that its first line names:
#   # file: actors/scheduler/scheduler.c
# target sim_mutants builds sim_mutant_NAME for each; a script that changes nothing fails the build.
function(pr_simulator root)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${root}/*.c)
  add_library(sim_objects OBJECT ${sources})
  pr_common(sim_objects)
  target_link_libraries(sim_objects PRIVATE pr_actor pr_core pr_sign pr_sql pr_http PkgConfig::JANSSON)
  pr_sim_program(sim)
  set(mutants)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${root}/mutants/*.sed)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    file(STRINGS ${script} line LIMIT_COUNT 1 REGEX "^# file: ")
    string(REGEX REPLACE "^# file: " "" original "${line}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
    set(copy ${CMAKE_BINARY_DIR}/sim-mutants/${name}.c)
    add_custom_command(
      OUTPUT ${copy}
      COMMAND ${CMAKE_SOURCE_DIR}/${root}/mutants/plant ${script} ${CMAKE_SOURCE_DIR}/${original} ${copy}
      DEPENDS ${script} ${CMAKE_SOURCE_DIR}/${original} ${CMAKE_SOURCE_DIR}/${root}/mutants/plant VERBATIM)
    pr_sim_program(sim_mutant_${name} ${copy})
    get_filename_component(folder ${CMAKE_SOURCE_DIR}/${original} DIRECTORY)
    target_include_directories(sim_mutant_${name} PRIVATE ${folder})
    target_compile_options(sim_mutant_${name} PRIVATE -Wno-error)
    set_target_properties(sim_mutant_${name} PROPERTIES EXCLUDE_FROM_ALL ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/sim-mutants)
    list(APPEND mutants sim_mutant_${name})
  endforeach()
  add_custom_target(sim_mutants DEPENDS ${mutants})
endfunction()
