# SPDX-License-Identifier: Apache-2.0
# The few shapes of target that this house has.

set(PR_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wformat=2 -Wvla -Wundef)
if(PR_WERROR)
  list(APPEND PR_WARNINGS -Werror)
endif()
if(PR_SANITIZE)
  add_compile_options(-fsanitize=${PR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PR_SANITIZE})
elseif(NOT PR_FUZZ)
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2> -fstack-protector-strong)
  add_link_options(-pie -Wl,-z,relro,-z,now)
endif()
if(PR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

function(pr_common target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${PR_WARNINGS})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE PR_VERSION="${PROJECT_VERSION}")
endfunction()

# pr_library(core DEPS ...): lib/core/*.c -> pr_core
function(pr_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/${name}/*.c)
  if(sources)
    add_library(pr_${name} STATIC ${sources})
    target_link_libraries(pr_${name} PUBLIC ${ARG_DEPS})
    pr_common(pr_${name})
  else()
    add_library(pr_${name} INTERFACE)
    target_link_libraries(pr_${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# Generated protobuf-c sources; include as "postrider/v1/bus.pb-c.h".
function(pr_proto_library target root)
  set(out ${CMAKE_BINARY_DIR}/proto)
  set(generated)
  foreach(proto ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    add_custom_command(
      OUTPUT ${out}/${stem}.pb-c.c ${out}/${stem}.pb-c.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND protoc-c --c_out=${out} -I ${CMAKE_SOURCE_DIR}/${root} ${CMAKE_SOURCE_DIR}/${root}/${proto}
      DEPENDS ${CMAKE_SOURCE_DIR}/${root}/${proto} VERBATIM)
    list(APPEND generated ${out}/${stem}.pb-c.c ${out}/${stem}.pb-c.h)
  endforeach()
  add_library(${target} STATIC ${generated})
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC PkgConfig::PROTOBUF_C)
endfunction()

# sql/queries/<actor>/*.sql embedded: header "sql/<actor>.h", see cmake/embed_sql.py; and the migrations, "sql/migrations.h".
function(pr_sql_library target root)
  set(out ${CMAKE_BINARY_DIR}/sqlgen)
  file(GLOB_RECURSE queries CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/queries/*.sql ${CMAKE_SOURCE_DIR}/sql/migrations/*.sql)
  # The headers must be known as outputs: a new query renumbers the enum that they hold.
  set(headers ${out}/sql/migrations.h)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${CMAKE_SOURCE_DIR}/${root} ${CMAKE_SOURCE_DIR}/${root}/*)
  foreach(folder ${folders})
    if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${root}/${folder})
      string(REPLACE "-" "_" header ${folder})
      list(APPEND headers ${out}/sql/${header}.h)
    endif()
  endforeach()
  add_custom_command(
    OUTPUT ${out}/sql.c
    BYPRODUCTS ${headers}
    COMMAND python3 ${CMAKE_SOURCE_DIR}/cmake/embed_sql.py ${CMAKE_SOURCE_DIR}/sql ${out}
    DEPENDS ${queries} ${CMAKE_SOURCE_DIR}/cmake/embed_sql.py VERBATIM)
  add_library(${target} STATIC ${out}/sql.c)
  target_include_directories(${target} PUBLIC ${out})
  target_link_libraries(${target} PUBLIC pr_db)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lib)
endfunction()

# pr_program(postrider-x DIR actors/x DEPS ...): *.c of DIR -> an executable, and (all but main.c) the library postrider-x-lib for tests.
function(pr_program name)
  cmake_parse_arguments(ARG "NO_INSTALL" "DIR" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ARG_DIR}/*.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${ARG_DIR}/main.c)
    return()
  endif()
  add_executable(${name} ${CMAKE_SOURCE_DIR}/${ARG_DIR}/main.c)
  pr_common(${name})
  if(sources)
    add_library(${name}-lib STATIC ${sources})
    pr_common(${name}-lib)
    target_link_libraries(${name}-lib PUBLIC ${ARG_DEPS})
    set_property(GLOBAL PROPERTY "PR_LIB_OF_${ARG_DIR}" ${name}-lib)
    target_link_libraries(${name} PRIVATE ${name}-lib)
  else()
    target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  endif()
  set_property(GLOBAL APPEND PROPERTY PR_PROGRAMS ${name})
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

# The files of a web application in a program's library: pr_assets[] (cmake/embed_files.py).
function(pr_embed_files target root)
  set(out ${CMAKE_BINARY_DIR}/embedded/${target}.c)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${root}/*)
  add_custom_command(OUTPUT ${out}
    COMMAND python3 ${CMAKE_SOURCE_DIR}/cmake/embed_files.py ${CMAKE_SOURCE_DIR}/${root} ${out}
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_files.py VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

# Every tests/unit/**/test_*.c is one Criterion program, linked with everything it may want.
function(pr_unit_tests root)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${root}/test_*.c)
  foreach(test ${tests})
    file(RELATIVE_PATH stem ${CMAKE_SOURCE_DIR}/${root} ${test})
    string(REGEX REPLACE "[/.]" "_" name ${stem})
    string(REGEX REPLACE "_c$" "" name ${name})
    add_executable(unit_${name} ${test})
    pr_common(unit_${name})
    # Only the program library that the test's folder names: tests/unit/actors/notifier/ is linked
    # with that of actors/notifier/.
    set(libs pr_recon pr_compensate pr_gateway_worker pr_worker pr_channel pr_actor pr_gateway pr_core pr_sign pr_http pr_front pr_httpd pr_password pr_audit pr_sql
        PkgConfig::CRITERION PkgConfig::JANSSON)
    get_filename_component(dir ${stem} DIRECTORY)
    get_property(own_lib GLOBAL PROPERTY "PR_LIB_OF_${dir}")
    if(own_lib)
      list(PREPEND libs ${own_lib})
    endif()
    target_link_libraries(unit_${name} PRIVATE ${libs})
    add_test(NAME unit/${stem} COMMAND unit_${name} --timeout 300)
    set_tests_properties(unit/${stem} PROPERTIES TIMEOUT 1200 LABELS unit
      FAIL_REGULAR_EXPRESSION "Tested: 0 |LeakSanitizer|runtime error:")
  endforeach()
endfunction()

# Every tests/fuzz/fuzz_*.c is one libFuzzer program; corpus in tests/fuzz/corpus/<name>/.
function(pr_fuzz_targets root)
  file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${root}/fuzz_*.c)
  foreach(target ${targets})
    get_filename_component(name ${target} NAME_WE)
    add_executable(${name} ${target})
    pr_common(${name})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE pr_actor pr_gateway pr_statement pr_core pr_http pr_httpd pr_sign pr_wire)
  endforeach()
endfunction()

# Every tests/integration/<name>/test_*.c is one Criterion program, integration_<name>_<test>, which the
# run script beside it starts with a database (tests/run); ctest does not know it.
function(pr_integration_programs root)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${root}/*/test_*.c)
  foreach(test ${tests})
    file(RELATIVE_PATH stem ${CMAKE_SOURCE_DIR}/${root} ${test})
    string(REGEX REPLACE "/test_([a-z_]+)\\.c$" "_\\1" name ${stem})
    add_executable(integration_${name} ${test})
    pr_common(integration_${name})
    target_link_libraries(integration_${name} PRIVATE pr_actor pr_core pr_sql PkgConfig::CRITERION)
  endforeach()
endfunction()
