{
  "variables": {
    # Warnings are errors in this project's own builds, not on a user's machine with another compiler.
    "rxib_werror%": 0,
    # Extra compiler and linker flags of instrumented builds, separated by spaces.
    "rxib_extra%": "",
  },
  "targets": [
    {
      "target_name": "rx_ib_multicast",
      "sources": [
        "<!@(node -p \"['addon','core','codec','sa','embedded'].concat(process.platform==='linux'?['rdma','umad','rdmacm']:[]).flatMap(room=>require('fs').readdirSync('native/'+room).filter(f=>f.endsWith('.cc')).sort().map(f=>'native/'+room+'/'+f)).join(' ')\")",
      ],
      "include_dirs": ["native"],
      "defines": ["NAPI_VERSION=8", "NAPI_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED",
                  # worker.terminate() may come at any moment, also between two calls of ours.
                  "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": [
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-isystem<!(node -p \"require('path').dirname(require.resolve('node-addon-api/package.json'))\")",
        "-fvisibility=hidden",
        "-ffunction-sections",
        "-fdata-sections",
        "<@(rxib_extra)",
      ],
      "conditions": [
        ["rxib_werror==1", {"cflags_cc": ["-Werror"]}],
        ["OS=='linux'", {
          "defines": ["RXIB_WITH_RDMA=1"],
          # libgcc stays shared: its static unwinder needs glibc 2.35, and node brings the shared one.
          # What nothing calls is dropped: it is large, and parts of libstdc++ need glibc 2.36.
          "ldflags": ["-static-libstdc++", "-Wl,--exclude-libs,ALL", "-Wl,--gc-sections", "<@(rxib_extra)"],
          "libraries": ["-ldl"],
        }, {
          "defines": ["RXIB_WITH_RDMA=0"],
        }],
        ["OS=='mac'", {
          "xcode_settings": {
            "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
            "CLANG_CXX_LIBRARY": "libc++",
            "MACOSX_DEPLOYMENT_TARGET": "11.0",
            "OTHER_CPLUSPLUSFLAGS": ["-std=c++17", "-isystem<!(node -p \"require('path').dirname(require.resolve('node-addon-api/package.json'))\")"],
          },
        }],
      ],
    },
  ],
}
