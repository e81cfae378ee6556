# Makes this environment the shell's own: `source bin/activate.fish`; `deactivate` leaves it.

function deactivate
    if set -q _YDL_OLD_PATH
        set -gx PATH $_YDL_OLD_PATH
        set -e _YDL_OLD_PATH
    end
    if set -q CONDA_PREFIX
        for file in $CONDA_PREFIX/etc/conda/deactivate.d/*.fish
            source $file
        end
    end
    set -e VIRTUAL_ENV
    set -e CONDA_PREFIX
    functions -e deactivate
end

set -l place (cd (dirname (status filename))/..; and pwd)
if test -d $place/conda-meta
    set -gx CONDA_PREFIX $place
else
    set -gx VIRTUAL_ENV $place
end
set -g _YDL_OLD_PATH $PATH
set -gx PATH $place/bin $PATH
set -e PYTHONHOME
if set -q CONDA_PREFIX
    for file in $CONDA_PREFIX/etc/conda/activate.d/*.fish
        source $file
    end
end
