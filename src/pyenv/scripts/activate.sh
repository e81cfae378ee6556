# Makes this environment the shell's own: `. bin/activate`, and `deactivate` to leave it.
# It finds out where it is: bash and zsh say so, others have to be in the directory above.

deactivate() {
    if [ -n "${CONDA_PREFIX:-}" ]; then
        for ydl_file in "$CONDA_PREFIX"/etc/conda/deactivate.d/*.sh; do
            [ -e "$ydl_file" ] && . "$ydl_file"
        done
    fi
    [ -n "${_YDL_OLD_PATH:-}" ] && PATH=$_YDL_OLD_PATH && export PATH
    [ -n "${_YDL_OLD_HOME:-}" ] && PYTHONHOME=$_YDL_OLD_HOME && export PYTHONHOME
    [ -n "${_YDL_OLD_PS1:-}" ] && PS1=$_YDL_OLD_PS1
    unset _YDL_OLD_PATH _YDL_OLD_HOME _YDL_OLD_PS1 ydl_file
    unset VIRTUAL_ENV VIRTUAL_ENV_PROMPT CONDA_PREFIX
    hash -r 2>/dev/null
    [ "${1:-}" = nondestructive ] || unset -f deactivate
}

deactivate nondestructive

if [ -n "${BASH_SOURCE:-}" ]; then
    ydl_file=$BASH_SOURCE
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval 'ydl_file=${(%):-%x}'
else
    ydl_file=./bin/activate
fi
ydl_file=$(cd -- "$(dirname -- "$ydl_file")/.." >/dev/null 2>&1 && pwd)

if [ -x "$ydl_file/bin/python" ]; then
    if [ -d "$ydl_file/conda-meta" ]; then
        CONDA_PREFIX=$ydl_file
        export CONDA_PREFIX
    else
        VIRTUAL_ENV=$ydl_file
        export VIRTUAL_ENV
    fi
    _YDL_OLD_PATH=$PATH
    PATH=$ydl_file/bin:$PATH
    export PATH
    if [ -n "${PYTHONHOME:-}" ]; then
        _YDL_OLD_HOME=$PYTHONHOME
        unset PYTHONHOME
    fi
    if [ -z "${VIRTUAL_ENV_DISABLE_PROMPT:-}" ] && [ -n "${PS1:-}" ]; then
        _YDL_OLD_PS1=$PS1
        VIRTUAL_ENV_PROMPT="(${ydl_file##*/}) "
        PS1=$VIRTUAL_ENV_PROMPT$PS1
        export VIRTUAL_ENV_PROMPT
    fi
    if [ -n "${CONDA_PREFIX:-}" ]; then
        for ydl_file in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do
            [ -e "$ydl_file" ] && . "$ydl_file"
        done
    fi
    unset ydl_file
    hash -r 2>/dev/null
else
    echo "activate: no environment with a working python found from here" >&2
    unset ydl_file
    false
fi
