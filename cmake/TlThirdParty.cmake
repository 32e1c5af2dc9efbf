# Third-party libraries as targets: tl_nanoarrow, tl_yyjson, tl_codecs, tl_duckdb (only when fetched), tl_external (all but DuckDB).
set(_missing "run scripts/deps.sh (or plain `make`) first")
foreach(_need nanoarrow/nanoarrow/nanoarrow.h yyjson/yyjson.c)
  if(NOT EXISTS "${TL_DEPS_DIR}/${_need}")
    message(FATAL_ERROR "${TL_DEPS_DIR}/${_need} is not there: ${_missing}")
  endif()
endforeach()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(TL_CODECS REQUIRED IMPORTED_TARGET libzstd liblz4 libbrotlienc libbrotlidec zlib)
find_library(TL_SNAPPY snappy REQUIRED) # Debian's snappy has no pkg-config file
add_library(tl_codecs INTERFACE)
# Shared libraries, but for a target with the property TL_STATIC_CODECS: that one carries them inside.
foreach(_lib zstd lz4 brotlienc brotlidec brotlicommon z snappy)
  find_library(TL_STATIC_${_lib} lib${_lib}.a REQUIRED)
  list(APPEND _static_codecs "${TL_STATIC_${_lib}}")
endforeach()
target_link_libraries(tl_codecs INTERFACE
  "$<IF:$<BOOL:$<TARGET_PROPERTY:TL_STATIC_CODECS>>,${_static_codecs},PkgConfig::TL_CODECS;${TL_SNAPPY}>")
target_include_directories(tl_codecs SYSTEM INTERFACE ${TL_CODECS_INCLUDE_DIRS})

# nanoarrow (C data interface, IPC) with the flatcc runtime that its package carries. The source package lacks what its own
# CMakeLists.txt needs, so the few files are listed here and the config header is made from its template.
set(NANOARROW_VERSION 0.9.0)
set(NANOARROW_VERSION_MAJOR 0)
set(NANOARROW_VERSION_MINOR 9)
set(NANOARROW_VERSION_PATCH 0)
set(NANOARROW_NAMESPACE_DEFINE "#define NANOARROW_NAMESPACE Timelake") # so that a program may link another nanoarrow as well
configure_file("${TL_DEPS_DIR}/nanoarrow/nanoarrow/nanoarrow_config.h.in"
               "${CMAKE_BINARY_DIR}/third_party/nanoarrow/nanoarrow_config.h" @ONLY)
set(_na "${TL_DEPS_DIR}/nanoarrow/nanoarrow")
set(_fc "${TL_DEPS_DIR}/nanoarrow/flatcc")
add_library(tl_nanoarrow STATIC
  ${_na}/common/array.c ${_na}/common/array_stream.c ${_na}/common/schema.c ${_na}/common/utils.c
  ${_na}/ipc/codecs.c ${_na}/ipc/decoder.c ${_na}/ipc/encoder.c ${_na}/ipc/reader.c ${_na}/ipc/writer.c
  ${_fc}/src/runtime/builder.c ${_fc}/src/runtime/emitter.c ${_fc}/src/runtime/verifier.c ${_fc}/src/runtime/refmap.c)
target_include_directories(tl_nanoarrow SYSTEM PUBLIC "${TL_DEPS_DIR}/nanoarrow" "${CMAKE_BINARY_DIR}/third_party")
target_include_directories(tl_nanoarrow SYSTEM PRIVATE "${_fc}/include")
target_compile_definitions(tl_nanoarrow PRIVATE NANOARROW_IPC_WITH_ZSTD NANOARROW_IPC_WITH_LZ4)
target_compile_options(tl_nanoarrow PRIVATE -w)
target_link_libraries(tl_nanoarrow PUBLIC tl_codecs)

add_library(tl_yyjson STATIC "${TL_DEPS_DIR}/yyjson/yyjson.c")
target_include_directories(tl_yyjson SYSTEM PUBLIC "${TL_DEPS_DIR}/yyjson")
target_compile_options(tl_yyjson PRIVATE -w)

# The sanitizers watch our code; third-party code is checked for memory errors, not for undefined shifts and the like.
if(TL_SANITIZE)
  target_compile_options(tl_nanoarrow PRIVATE -fno-sanitize=undefined,float-cast-overflow)
  target_compile_options(tl_yyjson PRIVATE -fno-sanitize=undefined,float-cast-overflow)
endif()

add_library(tl_external INTERFACE)
target_link_libraries(tl_external INTERFACE tl_nanoarrow tl_yyjson tl_codecs Threads::Threads m)

# DuckDB: static libraries that need each other in circles, so they go in as one group.
if(EXISTS "${TL_DEPS_DIR}/duckdb/libduckdb_static.a")
  file(GLOB _duckdb_archives "${TL_DEPS_DIR}/duckdb/*.a")
  add_library(tl_duckdb INTERFACE)
  target_include_directories(tl_duckdb SYSTEM INTERFACE "${TL_DEPS_DIR}/duckdb")
  target_link_libraries(tl_duckdb INTERFACE -Wl,--start-group ${_duckdb_archives} -Wl,--end-group Threads::Threads dl m)
endif()

# The extension's header, with the duckdb.h of the same version.
if(EXISTS "${TL_DEPS_DIR}/duckdb-extension/duckdb_extension.h")
  add_library(tl_duckdb_extension_h INTERFACE)
  target_include_directories(tl_duckdb_extension_h SYSTEM INTERFACE "${TL_DEPS_DIR}/duckdb-extension")
endif()
